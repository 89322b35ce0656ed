// the comment
const code = 1;
