// the comment
/** second comment */
const word = "text";

const code = 1;
