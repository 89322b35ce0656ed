/* Expected errors of requests to the server. Any other error is a defect. */

export class RequestError extends Error {
  constructor(message, title, remedy) {
    super(message);
    this.title = title; this.remedy = remedy;
  }
}

/** What to do on this page about a problem, by its type. The remedies of the server name routes, for programs. */
const REMEDIES = {
  "no-such-collection": "The page Documents lists the collections.",
  "collection-not-named": "Choose a collection.",
  "no-such-document": "The page Documents lists the documents.",
  "no-such-evaluation": "The page Evaluations lists the evaluations.",
  "no-such-run": "The page Runs lists the runs.",
  "no-such-approval": "The page Approvals lists the open approvals.",
  "decided-already": "The run shows the decision.",
  "key-needed": "Sign in.",
  "not-allowed": "Ask an owner for this right.",
  "name-taken": "Choose another name.",
  "model-unavailable": "Then try again.",
  "store-unavailable": "Try again later.",
  "database-unavailable": "Try again later.",
  "data-folder-unavailable": "Try again later.",
  "run-under-way": "Try again when the run has ended.",
  "passages-lost": "Restore the collection on the page Documents.",
  "collection-of-another-database": "Use the service of that database, or another collection name.",
  "no-such-page": "Choose Text to read the document.",
  "file-gone-or-changed": "Choose Text to read the document.",
  "wrong-input": "Correct it, then try again.",
};

/** An error response of the server (application/problem+json). */
export class Problem extends RequestError {
  constructor(status, {type, title, detail, remedy}) {
    const known = REMEDIES[type?.replace("urn:candor:", "")];
    super(typeof detail === "string" ? detail : JSON.stringify(detail ?? ""), title ?? `Error ${status}`, known ?? remedy ?? "");
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
