/* Talking to the server: JSON in and out, its problems as errors, and whether it is there at all. */

const RETRY_MS = 1500;

/** What the server said was wrong, with what to do about it. */
export class Problem extends Error {
  constructor(status, {title, detail, remedy}) {
    super(typeof detail === "string" ? detail : JSON.stringify(detail ?? ""));
    this.status = status;
    this.title = title ?? `Error ${status}`;
    this.remedy = remedy ?? "";
  }
}

/** The server could not be reached. */
export class Away extends Error {
  constructor() {
    super("The server does not answer. The page goes on by itself as soon as it is back.");
    this.title = "No connection";
    this.remedy = "Start it with: candor serve";
  }
}

/** Whether the server answers; tells "away" and "back". */
export const connection = Object.assign(new EventTarget(), {away: false});

/** Note that the server did not answer, and look for it until it does. */
export function lost() {
  if (connection.away) return;
  connection.away = true;
  connection.dispatchEvent(new Event("away"));
  setTimeout(lookAgain, RETRY_MS);
}

async function lookAgain() {
  try {
    const response = await fetch("/healthz", {cache: "no-store"});
    if (!response.ok) throw new Away();
  } catch {
    setTimeout(lookAgain, RETRY_MS); // still away: that is what the banner says
    return;
  }
  connection.away = false;
  connection.dispatchEvent(new Event("back"));
}

/** Resolves when the server answers again; at once if it does. */
export function back() {
  if (!connection.away) return Promise.resolve();
  return new Promise((resolve) => connection.addEventListener("back", resolve, {once: true}));
}

async function call(path, options = {}) {
  let response;
  try {
    response = await fetch(path, {cache: "no-store", ...options});
  } catch (error) {
    if (error.name === "AbortError") throw error;
    lost();
    throw new Away();
  }
  if (!response.ok) throw new Problem(response.status, await problemOf(response));
  return response.status === 204 ? null : response.json();
}

async function problemOf(response) {
  const type = response.headers.get("content-type") ?? "";
  return type.includes("json") ? response.json() : {detail: await response.text()};
}

function post(path, body = {}) {
  return call(path, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)});
}

const id = encodeURIComponent;

export const collections = () => call("/v1/collections");
export const agents = () => call("/v1/agents");
export const documents = (collection) => call(`/v1/documents?collection=${id(collection)}`);
export const documentText = (document, collection) =>
  call(`/v1/documents/${id(document)}/text?collection=${id(collection)}`);
export const ask = (request) => post("/v1/research", {...request, wait: false});
export const runs = (limit) => call(`/v1/runs?limit=${limit}`);
export const run = (runId) => call(`/v1/runs/${id(runId)}`);
export const cancel = (runId) => post(`/v1/runs/${id(runId)}/cancel`);
export const events = (runId, after = 0) => call(`/v1/runs/${id(runId)}/events?follow=false&after=${after}`);
export const eventsUrl = (runId, after) => `/v1/runs/${id(runId)}/events?after=${after}`;
export const journal = (runId) => call(`/v1/runs/${id(runId)}/journal`);
