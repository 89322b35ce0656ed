/* Expected errors of requests to the server. Any other error is a defect. */

import {t} from "./i18n.js";

export class RequestError extends Error {
  constructor(message, title, remedy) {
    super(message);
    this.title = title; this.remedy = remedy;
  }
}

/** What to do on this page about a problem, by its type. The remedies of the server name routes, for programs. */
const REMEDIES = {
  "no-such-collection": t("The page Documents lists the collections."),
  "collection-not-named": t("Choose a collection."),
  "no-such-document": t("The page Documents lists the documents."),
  "no-such-evaluation": t("The page Evaluations lists the evaluations."),
  "no-such-run": t("The page Runs lists the runs."),
  "no-such-approval": t("The page Approvals lists the open approvals."),
  "decided-already": t("The run shows the decision."),
  "key-needed": t("Sign in."),
  "not-allowed": t("Ask an owner for this right."),
  "name-taken": t("Choose another name."),
  "model-unavailable": t("Then try again."),
  "store-unavailable": t("Try again later."),
  "database-unavailable": t("Try again later."),
  "data-folder-unavailable": t("Try again later."),
  "run-under-way": t("Try again when the run has ended."),
  "passages-lost": t("Restore the collection on the page Documents."),
  "collection-of-another-database": t("Use the service of that database, or another collection name."),
  "no-such-page": t("Choose Text to read the document."),
  "file-gone-or-changed": t("Choose Text to read the document."),
  "wrong-input": t("Correct it, then try again."),
};

/** An error response of the server (application/problem+json). */
export class Problem extends RequestError {
  constructor(status, {type, title, detail, remedy}) {
    const known = REMEDIES[type?.replace("urn:candor:", "")];
    super(typeof detail === "string" ? detail : JSON.stringify(detail ?? ""), title ?? t("Error {status}", {status}), known ?? remedy ?? "");
    this.status = status;
  }
}

/** The server could not be reached. */
export class Unreachable extends RequestError {
  constructor() {
    super(t("The server does not respond. The page reconnects automatically."), t("No connection"), t("Start it with: candor serve"));
  }
}

/** The connection broke during a request, or the page aborted it. */
export class Interrupted extends RequestError {
  constructor(why) {
    super(t("The connection was interrupted: {why}", {why}), t("Interrupted"), t("Try again."));
  }
}
