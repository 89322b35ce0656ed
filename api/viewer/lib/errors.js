/* What keeps the page from getting what it asked the server for. Everything else that is thrown is a defect. */

export class Trouble extends Error {
  constructor(message, title, remedy) {
    super(message);
    Object.assign(this, {title, remedy});
  }
}

/** What the server said was wrong, with what to do about it. */
export class Problem extends Trouble {
  constructor(status, {title, detail, remedy}) {
    super(typeof detail === "string" ? detail : JSON.stringify(detail ?? ""), title ?? `Error ${status}`, remedy ?? "");
    this.status = status;
  }
}

/** The server could not be reached. */
export class Away extends Trouble {
  constructor() {
    super("The server does not answer. The page goes on by itself as soon as it is back.", "No connection", "Start it with: candor serve");
  }
}

/** An answer ended before it was whole: the connection broke, or the page gave it up. */
export class Interrupted extends Trouble {
  constructor(why) {
    super(`The connection broke: ${why}`, "Interrupted", "Try again.");
  }
}
