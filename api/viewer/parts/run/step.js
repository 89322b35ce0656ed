/* Details of a step or an event: instruction, context, reasoning, prompts and responses. */

import {readView, wroteView} from "./context.js";
import {badge, fold, h} from "../../lib/dom.js";
import {computation} from "../answer/evidence.js";
import {after, agentsOf, statusOf} from "../../lib/model.js";
import {forkForm} from "./fork.js";
import {fields, value} from "../tables.js";
import {costOf, eventLine, plural, seconds, tokens, within} from "../../lib/format.js";

/** All details of a step. `over`: its attempt has finished; `href` returns the URL of a step. */
export function stepView(live, step, over, href) {
  const status = statusOf(step, over);
  const part = (title, ...content) => content.flat().some(Boolean) && h("section", {}, h("h3", {}, title), content);
  return [
    h("p", {class: "facts"}, badge(status), h("span", {}, agentsOf(step).join(", ")),
      step.startedAt && step.endedAt && h("span", {}, seconds((step.endedAt - step.startedAt) / 1000)),
      step.calls.length > 0 && [h("span", {}, plural(step.calls.length, "model call")), h("span", {}, tokens(step.usage)), costOf(step.usage) && h("span", {}, costOf(step.usage))],
      step.retries.length > 0 && h("span", {}, plural(step.retries.length, "retry", "retries")),
      copyLink(href(step))),
    part("Instruction", h("p", {class: "text"}, step.instruction),
      step.plan?.why && h("p", {class: "note"}, `Why: ${step.plan.why}`),
      step.plan && after(step.plan).length > 0 && h("p", {class: "note"}, `After: ${after(step.plan).join(", ")}`),
      step.plan && Object.keys(step.plan.inputs).length > 0 && fields(step.plan.inputs, `${step.key} inputs`)),
    part("Tasks", step.tasks.map((each) => taskView(each, step.key))),
    part("Reacts to", step.wokenBy && h("p", {class: "text"}, `${step.wokenBy.agent} in step ${step.wokenBy.step}: ${step.wokenBy.event.replaceAll("_", " ")}`)),
    part("Heard", step.heard.map((each) => h("p", {class: "text"}, h("strong", {}, `${each.sender} (${each.step}): `), each.content))),
    part("Errors", [...step.failures, ...step.retries].map((each) =>
      h("p", {class: "fault"}, `${each.agent}${each.error_type ? "" : ", retried"}: ${each.error}`))),
    part("Skipped because", step.skipped.map((each) => h("p", {class: "text"}, each.reason))),
    part("Reasoning", step.reasoning.map((each) => h("p", {class: "text"},
      step.reasoning.length > 1 && h("strong", {}, `${each.agent}: `), each.reasoning || "No explanation."))),
    part("Read", step.reads.length > 0 && readView(live.model, step, href)),
    part(`Items, ${step.items.length} of ${step.items[0]?.of}`, step.items.map(itemView)),
    part("Searches", step.searches.map((each) => h("div", {},
      h("p", {}, `${each.method}: ${plural(each.chunks_found, "passage")} in ${plural(each.documents_found, "document")}${within(each.documents)}`), value(each.queries, `${step.key} queries`)))),
    part("Context changes", wroteView(live.model, step)),
    part("Computed", computed(step)),
    part("Tools", step.tools.map((each, at) => toolView(each, `${step.key} tool ${at}`))),
    part("Approvals", step.approvals.map((each) => h("p", {}, `${each.tool}: ${eventLine(each.decided ?? each)}`))),
    part("Rejected quotes", step.rejected.map((each) => h("div", {class: "quoted rejected"},
      h("span", {class: "where"}, `${each.passage} · ${each.final ? "dropped" : "retried"}`),
      h("span", {class: "words"}, each.quote), h("span", {class: "note"}, each.reason)))),
    part("Left out of prompts", step.shortened.flatMap((each) => each.left_out.map((text) => h("p", {class: "text"}, `${each.caller}: ${text}`)))),
    part("Repaired responses", step.repaired.flatMap((each) => each.repairs.map((repair) => h("p", {class: "text"}, `${each.caller}: ${repair}`)))),
    part("Votes", step.votes.map(vote)),
    part("Prompts and responses", step.calls.map((call) => callView(live, call))),
    live.over && step.plan && forkForm(live.id, step),
  ].filter(Boolean);
}

function copyLink(href) {
  if (!navigator.clipboard) return null; // only available on localhost and over HTTPS
  return h("button", {type: "button", class: "quiet", "data-key": "copy link", on: {click: async ({currentTarget}) => {
    await navigator.clipboard.writeText(new URL(href, location.href).href);
    currentTarget.textContent = "Copied";
  }}}, "Copy link");
}

/** A line for an item that a step over a list has read. */
function itemView({item, found, reason, failed}) {
  const answers = Object.entries(found).map(([name, text]) => `${name} = ${text}`).join("; ");
  return h("p", {class: failed ? "fault" : "text"}, h("strong", {}, `${item}: `), answers || (failed ? "failed" : "no answer"),
    reason && h("span", {class: "note"}, ` ${reason}`));
}

/** Computations with results, then refused ones. */
function computed(step) {
  const results = step.wrote.flatMap((each) => each.wrote.computations ?? []);
  const refused = step.computed.filter((each) => each.error);
  return [
    ...results.map((each) => h("div", {}, h("p", {}, `[C${each.number}] ${each.purpose}`), computation(each))),
    ...refused.map((each) => h("div", {}, h("p", {}, each.purpose), h("pre", {class: "sql"}, each.sql), h("p", {class: "fault"}, each.error))),
  ];
}

/** The task of an agent: its id, its tools, and its inputs with references resolved. */
function taskView({agent, task, inputs, tools}, key) {
  const set = Object.fromEntries(Object.entries(inputs).filter(([, given]) => given !== null && given !== "" && given.length !== 0));
  return h("div", {}, h("p", {class: "note"}, `${agent} · ${task}${tools.length > 0 ? ` · tools: ${tools.join(", ")}` : ""}`),
    Object.keys(set).length > 0 && fields(set, `${key} ${task}`));
}

function toolView({tool, why, arguments: given, returned}, key) {
  const took = returned ? (returned.replayed ? "from the journal" : seconds(returned.seconds)) : "running";
  return fold(key, [tool, " · ", took, returned?.error && " · failed"].filter(Boolean), () => [
    h("p", {class: "text"}, why), fields(given, `${key} arguments`),
    returned?.error && h("p", {class: "fault"}, returned.error),
    returned?.result && h("pre", {}, returned.result)]);
}

export function vote(voted) {
  return h("div", {class: "vote"},
    h("p", {}, `${voted.method} vote, ${Math.round(voted.share * 100)} % for the first${voted.tie ? `; tie broken by ${voted.tie}` : ""}`),
    h("ol", {}, voted.groups.map((group) => h("li", {}, h("span", {class: "text"}, group.answer), " ",
      h("span", {class: "note"}, `${group.voters.join(", ")} (${group.weight})`)))));
}

/** A model call. Its prompt and response are loaded when it is opened. */
export function callView(live, call, open = false) {
  const {prompt_tokens: read, cached_tokens: cached, completion_tokens: wrote} = call.usage;
  const prompt = `${read.toLocaleString("en")}${cached > 0 ? ` (${cached.toLocaleString("en")} from cache)` : ""}`;
  const title = [call.caller, `${prompt} + ${plural(wrote, "token")}`, call.replayed ? "from the journal" : seconds(call.usage.seconds),
    costOf(call.usage), call.failed && "failed", call.faults.length > 0 && `${call.faults.length} rejected`].filter(Boolean).join(" · ");
  return fold(`call ${call.number}`, title, async () => {
    if (call.failed) return [h("p", {class: "fault"}, call.error), ...call.faults.map((each) => h("p", {class: "fault"}, each))];
    const entry = await live.entry(call);
    return entry ? exchange(entry, call.number) : h("p", {class: "note"}, "The journal has no entry for this call.");
  }, open);
}

function exchange(entry, number) {
  return [
    ...entry.messages.map((message) => h("div", {class: `message ${message.role}`}, h("h4", {}, message.role), h("pre", {}, message.content),
      (message.pictures ?? []).map((each) => h("p", {class: "note"}, `A picture, not kept: ${each.width} × ${each.height} pixels`)))),
    ...entry.exchanges.map((each, at) => h("div", {class: "message response"},
      h("h4", {}, each.fault ? "rejected response" : "response"),
      each.fault && h("p", {class: "fault"}, each.fault),
      each.repairs?.length > 0 && h("p", {class: "note"}, `Repaired: ${each.repairs.join("; ")}`),
      each.thinking && fold(`thinking ${number}.${at}`, "thinking", () => h("pre", {}, each.thinking)),
      h("pre", {}, indented(each.response)))),
  ];
}

/** Indent JSON; return any other text unchanged. */
function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text; // a rejected response may not be JSON
  }
}

/** All details of an event. `href` is the URL of its step. */
export function eventView(live, event, href) {
  const {body} = event;
  return [
    h("p", {class: "facts"}, h("span", {}, new Date(event.at).toLocaleTimeString()),
      href ? h("a", {href}, event.step) : h("span", {}, "supervisor"), h("code", {}, body.type)),
    body.type === "model_called" || body.type === "model_failed"
      ? callView(live, {...body, failed: body.type === "model_failed", number: event.number}, true)
      : fields(body, `event ${event.number}`, ["type"]),
    h("p", {class: "note"}, `Event ${event.number}: ${event.title}`),
  ];
}
