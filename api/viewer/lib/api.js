/* Client of the REST API: JSON requests and responses, errors, and whether the server is reachable. */

import {Interrupted, Problem, Unreachable} from "./errors.js";
import {t} from "./i18n.js";
import {authorization, keyNeeded} from "./session.js";
import {messages} from "./sse.js";

const RETRY_MS = 1500;
const PAGE = 1000; // documents per request

/** Whether the server is reachable. Dispatches "offline" and "online". */
export const connection = Object.assign(new EventTarget(), {offline: false});

/** Report the server as unreachable, and poll until it responds. */
export function reportOffline() {
  if (connection.offline) return;
  connection.offline = true;
  connection.dispatchEvent(new Event("offline"));
  setTimeout(pollHealth, RETRY_MS);
}

async function pollHealth() {
  try {
    const response = await fetch("healthz", {cache: "no-store"});
    if (!response.ok) throw new Unreachable();
  } catch {
    setTimeout(pollHealth, RETRY_MS); // the banner is still shown
    return;
  }
  connection.offline = false;
  connection.dispatchEvent(new Event("online"));
}

/** Resolve when the server is reachable. */
export function online() {
  if (!connection.offline) return Promise.resolve();
  return new Promise((resolve) => connection.addEventListener("online", resolve, {once: true}));
}

/** Return a successful response. Throws Problem, Unreachable, Interrupted. Asks for a key on status 401. */
async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(path, {cache: "no-store", ...options, headers: {...authorization(), ...options.headers}});
  } catch (error) {
    if (error.name === "AbortError") throw new Interrupted("the request was aborted");
    reportOffline();
    throw new Unreachable();
  }
  if (response.ok) return response;
  if (response.status === 401) keyNeeded();
  throw new Problem(response.status, await problemOf(response));
}

async function call(path, options) {
  const response = await request(path, options);
  return response.status === 204 ? null : response.json();
}

async function problemOf(response) {
  const type = response.headers.get("content-type") ?? "";
  return type.includes("json") ? response.json() : {detail: await response.text()};
}

function send(method, path, body) {
  return call(path, {method, headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)});
}

const post = (path, body = {}) => send("POST", path, body);
const remove = (path) => call(path, {method: "DELETE"});

const id = encodeURIComponent;
const query = (parameters) => new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== ""));

export const me = () => call("v1/me");
export const collections = () => call("v1/collections");
export const agents = () => call("v1/agents");

/** Return all documents of a collection, requested page by page. */
export async function documents(collection) {
  const found = [];
  let page;
  do {
    page = await call(`v1/documents?${query({collection, limit: PAGE, after: found.at(-1)?.id ?? ""})}`);
    found.push(...page);
  } while (page.length === PAGE);
  return found;
}

export const document = (documentId, collection) => call(`v1/documents/${id(documentId)}?${query({collection})}`);

/** Return a part of a document's text: {page}, or {start, limit}. */
export const documentText = (document, collection, part) =>
  call(`v1/documents/${id(document)}/text?${query({collection, ...part})}`);
export const findInDocument = (document, collection, text, first) =>
  call(`v1/documents/${id(document)}/find?${query({collection, text, first})}`);
export const searchDocument = (document, collection, words, mode) =>
  call(`v1/documents/${id(document)}/search?${query({collection, query: words, mode})}`);
/** Search the passages of collections: {hits, note}. */
export async function search(wanted) {
  const response = await request("v1/search", {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(wanted)});
  return {hits: await response.json(), note: response.headers.get("Candor-Note") ?? ""};
}

export const passages = (document, collection, first) =>
  call(`v1/documents/${id(document)}/passages?${query({collection, first})}`);
export const citations = (document, collection, after, limit) =>
  call(`v1/documents/${id(document)}/citations?${query({collection, after, limit})}`);
export const differences = (document, collection, other) => call(`v1/documents/${id(document)}/differences?${query({collection, other})}`);
export const explainDifferences = (document, collection, other) => post(`v1/documents/${id(document)}/differences?${query({collection})}`, {other});
export const pageBoxes = (document, collection, page, start, end) =>
  call(`v1/documents/${id(document)}/pages/${page}?${query({collection, start, end})}`);
export const retryFailed = (collection) => post(`v1/collections/${id(collection)}/ingest`, {retry_failed: true});
export const retryDocument = (collection, document) => post(`v1/documents/${id(document)}/ingest?${query({collection})}`);
export const tagDocument = (collection, document, change) => send("PATCH", `v1/documents/${id(document)}/tags?${query({collection})}`, change);
export const removeDocument = (collection, document) => remove(`v1/documents/${id(document)}?${query({collection})}`);
export const sources = (collection) => call(`v1/sources?${query({collection})}`);
export const addSource = (collection, source) => post(`v1/collections/${id(collection)}/sources`, source);
export const syncSource = (collection, name) => post(`v1/collections/${id(collection)}/sources/${id(name)}/sync`);
export const removeSource = (collection, name) => remove(`v1/collections/${id(collection)}/sources/${id(name)}`);
export const dropCollection = (collection) => remove(`v1/collections/${id(collection)}`);
export const suggestions = (collection) => call(`v1/collections/${id(collection)}/suggestions`);
export const suggest = (collection) => post(`v1/collections/${id(collection)}/suggestions`);
export const defaults = () => call("v1/research/defaults");
export const ask = (request) => post("v1/research", {...request, wait: false});
export const runs = (filters) => call(`v1/runs?${query(filters)}`);
export const run = (runId) => call(`v1/runs/${id(runId)}`);
export const removeRun = (runId) => remove(`v1/runs/${id(runId)}`);
export const cancel = (runId) => post(`v1/runs/${id(runId)}/cancel`);
export const forkRun = (runId, change) => post(`v1/runs/${id(runId)}/fork`, change);
export const forkOptions = (runId, step) => call(`v1/runs/${id(runId)}/steps/${id(step)}/fork`);
export const replayRun = (runId) => post(`v1/runs/${id(runId)}/replay`, {});
export const compareRuns = (first, second) => call(`v1/runs/${id(first)}/comparison/${id(second)}`);
export const rate = (runId, rating, note) => send("PUT", `v1/runs/${id(runId)}/rating`, {rating, note});
export const conversation = (runId) => call(`v1/runs/${id(runId)}/conversation`);
export const events = (runId, after = 0) => call(`v1/runs/${id(runId)}/events?follow=false&after=${after}`);
export const approvals = (runId) => call(`v1/approvals?run_id=${id(runId)}`);
export const openApprovals = () => call("v1/approvals");
export const decide = (approval, decision) => post(`v1/approvals/${id(approval)}`, decision);
export const openJobs = (kind, collection = "") => call(`v1/jobs?${query({kind, collection, limit: 1000})}&status=waiting&status=running`);
export const job = (jobId) => call(`v1/jobs/${id(jobId)}`);
export const cancelJob = (jobId) => post(`v1/jobs/${id(jobId)}/cancel`);
export const journal = (runId) => call(`v1/runs/${id(runId)}/journal`);

export const signInMethods = () => call("v1/session");
export const signIn = (name, password) => post("v1/session", {name, password});
export const signOut = () => remove("v1/session");
export const acceptInvitation = (token, password) => post("v1/session/invitation", {token, password});
export const users = () => call("v1/users");
export const groups = () => call("v1/groups");
export const addUser = (user) => post("v1/users", user);
export const changeUser = (userId, changes) => send("PATCH", `v1/users/${id(userId)}`, changes);
export const inviteUser = (userId) => post(`v1/users/${id(userId)}/invitation`);

export const keys = () => call("v1/keys");
export const bin = () => call("v1/bin");
export const restoreFromBin = (entry) => post(`v1/bin/${id(entry)}/restore`);
export const removeFromBin = (entry) => remove(`v1/bin/${id(entry)}`);
export const addKey = (key) => post("v1/keys", key);
export const revokeKey = (keyId) => remove(`v1/keys/${id(keyId)}`);

export const addAgent = (agent) => post("v1/agents", agent);
export const editAgent = (agent) => send("PUT", `v1/agents/${id(agent.name)}`, agent);
export const changeAgent = (name, changes) => send("PATCH", `v1/agents/${id(name)}`, changes);
export const removeAgent = (name) => remove(`v1/agents/${id(name)}`);
export const modelState = () => call("v1/setup/model");
export const models = () => call("v1/setup/models");
export const chooseModel = (table, choice) => send("PUT", `v1/setup/models/${table}`, choice);
export const tryModel = (table, choice) => post(`v1/setup/models/${table}/trial`, choice);
export const offeredModels = (table, choice) => post(`v1/setup/models/${table}/offered`, choice);
export const endpoints = () => call("v1/endpoints");
export const skills = () => call("v1/skills");
export const addSkill = (skill) => post("v1/skills", skill);
export const editSkill = (skill) => send("PUT", `v1/skills/${id(skill.name)}`, skill);
export const removeSkill = (name) => remove(`v1/skills/${id(name)}`);

export const tools = () => call("v1/tools");

export const plans = () => call("v1/plans");
export const removePlan = (name) => remove(`v1/plans/${id(name)}`);
export const proposePlan = (runId, keepDocuments) => post("v1/plans/proposals", {run_id: runId, keep_documents: keepDocuments});
export const addPlan = (plan) => post("v1/plans", plan);
export const editPlan = (name, content) => send("PUT", `v1/plans/${id(name)}`, content);
export const exportPlan = (name) => call(`v1/plans/${id(name)}/export`);
export const memories = () => call("v1/memories");
export const addMemory = (kind, text) => post("v1/memories", {kind, text});
export const editMemory = (memory, text) => send("PUT", `v1/memories/${id(memory)}`, {text});
export const removeMemory = (memory) => remove(`v1/memories/${id(memory)}`);

export const tables = () => call("v1/tables");
export const table = (name) => call(`v1/tables/${id(name)}`);
export const addTable = (table) => post("v1/tables", table);
export const addColumns = (name, columns) => post(`v1/tables/${id(name)}/columns`, {columns});
export const estimateFill = (name) => post(`v1/tables/${id(name)}/estimate`);
export const fillTable = (name, wanted) => post(`v1/tables/${id(name)}/fill`, wanted);
export const editCell = (name, cell) => send("PUT", `v1/tables/${id(name)}/cells`, cell);
export const removeTable = (name) => remove(`v1/tables/${id(name)}`);

/** Return a table as a file: {name, content}. */
export const exportTable = async (name, format) => ({...await download(`v1/tables/${id(name)}/export?format=${format}`), name: `${name}.${format}`});

export const evaluations = () => call("v1/evaluations");
export const evaluation = (evaluationId) => call(`v1/evaluations/${id(evaluationId)}`);
export const readQuestions = (name, text) => post("v1/evaluations/questions", {name, text});
export const evaluate = (evaluation) => post("v1/evaluations", evaluation);
export const resumeEvaluation = (evaluationId) => post(`v1/evaluations/${id(evaluationId)}/resume`);
export const removeEvaluation = (evaluationId) => remove(`v1/evaluations/${id(evaluationId)}`);
export const comparison = (first, second) => call(`v1/evaluations/comparison?${query({first, second})}`);

/** Yield the events of a run after a number, live, as JSON text; "" is a keep-alive. */
export async function* eventStream(runId, after, signal) {
  const response = await request(`v1/runs/${id(runId)}/events?after=${after}`, {signal, headers: {"Last-Event-ID": after}});
  if (response.body) yield* messages(response.body);
}

/** Yield what Ollama does while it fetches a model, as JSON text. */
export async function* pullModel(table, choice) {
  const response = await request(`v1/setup/models/${table}/pull`, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(choice)});
  if (response.body) yield* messages(response.body);
}

/** Return the answer of a run as a file: {name, content}. */
export const exportAnswer = (runId, format) => download(`v1/runs/${id(runId)}/export?format=${format}`);

/** Return a whole run as a file: {name, content}. */
export const exportRun = (runId, texts) => download(`v1/runs/${id(runId)}/export?${query({format: "run", texts})}`);

/** Add the run of a file. */
export const importRun = (file) => call("v1/runs/import", {method: "POST", body: file});
export const storedRuns = () => call("v1/runs/storage");
export const pruneRuns = (limits) => post("v1/runs/prune", limits);

/** Return a report as a file: {name, content}. The other evaluations are compared with the first. */
export const evaluationReport = (evaluationIds, format) =>
  download(`v1/evaluations/report?${new URLSearchParams([...evaluationIds.map((each) => ["evaluation", each]), ["format", format]])}`);

async function download(path) {
  const response = await request(path);
  const [, name] = /filename="([^"]+)"/.exec(response.headers.get("content-disposition"));
  return {name, content: await response.blob()};
}

/** Return all quotes of an answer with the surrounding text and their boxes on pages. */
export const evidence = (runId) => call(`v1/runs/${id(runId)}/evidence?locate=true`);

/** Return the text of a web page or tool result with the position of a quote. */
export const keptText = (runId, number) => call(`v1/runs/${id(runId)}/evidence/${number}`);

export const runFiles = (runId) => call(`v1/runs/${id(runId)}/files`);

const runFilePath = (runId, name) => `v1/runs/${id(runId)}/files/${name.split("/").map(id).join("/")}`;

/** Add a file of a run to its collection, and return the ingest job. */
export const keepRunFile = (runId, name) => post(`${runFilePath(runId, name)}/ingest`);

/** Return a file that a tool wrote in a run. */
export async function runFile(runId, name) {
  const response = await request(runFilePath(runId, name));
  return response.blob();
}

/** Return the image of a page as an ImageBitmap. */
export async function pageImage(document, collection, page) {
  const path = `v1/documents/${id(document)}/pages/${page}.png?${query({collection})}`;
  const response = await request(path, {cache: "default"}); // the browser asks whether its picture is current
  return createImageBitmap(await response.blob());
}

/** Return the original file of a document. */
export async function originalFile(document, collection) {
  const response = await request(`v1/documents/${id(document)}/original?${query({collection})}`);
  return response.blob();
}

/** Upload files, each under its name, with tags, and return the ingest job. `onProgress` gets the share sent so far. */
export function upload(collection, files, onProgress, tags = []) {
  const form = new FormData();
  for (const {name, file} of files) form.append("files", file, name);
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest(); // fetch does not report upload progress
    sending.open("POST", `v1/collections/${id(collection)}/documents?${new URLSearchParams(tags.map((tag) => ["tags", tag]))}`);
    for (const [name, value] of Object.entries(authorization())) sending.setRequestHeader(name, value);
    sending.responseType = "json";
    sending.upload.addEventListener("progress", ({loaded, total}) => onProgress(total ? loaded / total : 1));
    sending.addEventListener("error", () => reject(new Interrupted(t("the upload was interrupted"))));
    sending.addEventListener("load", () => {
      if (sending.status === 401) keyNeeded();
      if (sending.status < 300) resolve(sending.response);
      else reject(new Problem(sending.status, sending.response ?? {}));
    });
    sending.send(form);
  });
}
