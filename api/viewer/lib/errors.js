/* Expected errors of requests to the server. Any other error is a defect. */

export class RequestError extends Error {
  constructor(message, title, remedy) {
    super(message);
    Object.assign(this, {title, remedy});
  }
}

/** An error response of the server (application/problem+json). */
export class Problem extends RequestError {
  constructor(status, {title, detail, remedy}) {
    super(typeof detail === "string" ? detail : JSON.stringify(detail ?? ""), title ?? `Error ${status}`, remedy ?? "");
    this.status = status;
  }
}

/** The server could not be reached. */
export class Unreachable extends RequestError {
  constructor() {
    super("The server does not respond. The page reconnects automatically.", "No connection", "Start it with: candor serve");
  }
}

/** The connection broke during a request, or the page aborted it. */
export class Interrupted extends RequestError {
  constructor(why) {
    super(`The connection was interrupted: ${why}`, "Interrupted", "Try again.");
  }
}
