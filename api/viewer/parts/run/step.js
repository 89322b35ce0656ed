/* Details of a step or an event: instruction, context, reasoning, prompts and responses. */

import {readView, wroteView} from "./context.js";
import {badge, fold, h} from "../../lib/dom.js";
import {computation} from "../answer/evidence.js";
import {after, agentsOf, statusOf} from "../../lib/model.js";
import {forkForm} from "./fork.js";
import {foundIn} from "./found.js";
import {fields, value} from "../tables.js";
import {costOf, eventLine, plural, seconds, tokens} from "../../lib/format.js";
import {locale, number, t, term} from "../../lib/i18n.js";

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
    part(t("Instruction"), h("p", {class: "text"}, step.instruction),
      step.plan?.why && h("p", {class: "note"}, t("Why: {why}", {why: step.plan.why})),
      step.plan && after(step.plan).length > 0 && h("p", {class: "note"}, t("After: {steps}", {steps: after(step.plan).join(", ")})),
      step.plan && Object.keys(step.plan.inputs).length > 0 && fields(step.plan.inputs, `${step.key} inputs`)),
    part(t("Tasks"), step.tasks.map((each) => taskView(each, step.key))),
    part(t("Reacts to"), step.wokenBy && h("p", {class: "text"}, t("{agent} in step {step}: {event}", {agent: step.wokenBy.agent, step: step.wokenBy.step, event: step.wokenBy.event.replaceAll("_", " ")}))),
    part(t("Heard"), step.heard.map((each) => h("p", {class: "text"}, h("strong", {}, `${each.sender} (${each.step}): `), each.content))),
    part(t("Errors"), [...step.failures, ...step.retries].map((each) =>
      h("p", {class: "fault"}, `${each.agent}${each.error_type ? "" : `, ${t("retried")}`}: ${each.error}`))),
    part(t("Skipped because"), step.skipped.map((each) => h("p", {class: "text"}, each.reason))),
    part(t("Reasoning"), step.reasoning.map((each) => h("p", {class: "text"},
      step.reasoning.length > 1 && h("strong", {}, `${each.agent}: `), each.reasoning || t("No explanation.")))),
    part(t("Read"), step.reads.length > 0 && readView(live.model, step, href)),
    part(t("Items, {count} of {of}", {count: step.items.length, of: step.items[0]?.of}), step.items.map(itemView)),
    part(t("Searches"), step.searches.map((each) => h("div", {},
      h("p", {}, `${term(each.method)}: ${foundIn(each)}`), value(each.queries, `${step.key} queries`)))),
    part(t("Context changes"), wroteView(live.model, step)),
    part(t("Computed"), computed(step)),
    part(t("Tools"), step.tools.map((each, at) => toolView(each, `${step.key} tool ${at}`))),
    part(t("Approvals"), step.approvals.map((each) => h("p", {}, `${each.tool}: ${eventLine(each.decided ?? each)}`))),
    part(t("Rejected quotes"), step.rejected.map((each) => h("div", {class: "quoted rejected"},
      h("span", {class: "where"}, `${each.passage} · ${each.final ? t("dropped") : t("retried")}`),
      h("span", {class: "words"}, each.quote), h("span", {class: "note"}, each.reason)))),
    part(t("Left out of prompts"), step.shortened.flatMap((each) => each.left_out.map((text) => h("p", {class: "text"}, `${each.caller}: ${text}`)))),
    part(t("Repaired responses"), step.repaired.flatMap((each) => each.repairs.map((repair) => h("p", {class: "text"}, `${each.caller}: ${repair}`)))),
    part(t("Votes"), step.votes.map(vote)),
    part(t("Prompts and responses"), step.calls.map((call) => callView(live, call))),
    live.over && step.plan && forkForm(live.id, step),
  ].filter(Boolean);
}

function copyLink(href) {
  if (!navigator.clipboard) return null; // only available on localhost and over HTTPS
  return h("button", {type: "button", class: "quiet", "data-key": "copy link", on: {click: async ({currentTarget}) => {
    await navigator.clipboard.writeText(new URL(href, location.href).href);
    currentTarget.textContent = t("Copied");
  }}}, t("Copy link"));
}

/** A line for an item that a step over a list has read. */
function itemView({item, found, reason, failed}) {
  const answers = Object.entries(found).map(([name, text]) => `${name} = ${text}`).join("; ");
  return h("p", {class: failed ? "fault" : "text"}, h("strong", {}, `${item}: `), answers || (failed ? t("failed") : t("no answer")),
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
  return h("div", {}, h("p", {class: "note"}, `${agent} · ${task}${tools.length > 0 ? ` · ${t("tools: {tools}", {tools: tools.join(", ")})}` : ""}`),
    Object.keys(set).length > 0 && fields(set, `${key} ${task}`));
}

function toolView({tool, why, arguments: given, returned}, key) {
  const took = returned ? (returned.replayed ? t("from the journal") : seconds(returned.seconds)) : t("running");
  return fold(key, [tool, " · ", took, returned?.error && ` · ${t("failed")}`].filter(Boolean), () => [
    h("p", {class: "text"}, why), fields(given, `${key} arguments`),
    returned?.error && h("p", {class: "fault"}, returned.error),
    returned?.result && h("pre", {}, returned.result)]);
}

export function vote(voted) {
  return h("div", {class: "vote"},
    h("p", {}, [t("{method} vote, {share} % for the first", {method: term(voted.method), share: Math.round(voted.share * 100)}), voted.tie && `; ${t("tie broken by {voter}", {voter: voted.tie})}`]),
    h("ol", {}, voted.groups.map((group) => h("li", {}, h("span", {class: "text"}, group.answer), " ",
      h("span", {class: "note"}, `${group.voters.join(", ")} (${group.weight})`)))));
}

/** A model call. Its prompt and response are loaded when it is opened. */
export function callView(live, call, open = false) {
  const {prompt_tokens: read, cached_tokens: cached, completion_tokens: wrote} = call.usage;
  const prompt = `${number(read)}${cached > 0 ? ` (${t("{count} from cache", {count: number(cached)})})` : ""}`;
  const title = [call.caller, `${prompt} + ${plural(wrote, "token")}`, call.replayed ? t("from the journal") : seconds(call.usage.seconds),
    costOf(call.usage), call.failed && t("failed"), call.faults.length > 0 && t("{count} rejected", {count: call.faults.length})].filter(Boolean).join(" · ");
  return fold(`call ${call.number}`, title, async () => {
    if (call.failed) return [h("p", {class: "fault"}, call.error), ...call.faults.map((each) => h("p", {class: "fault"}, each))];
    const entry = await live.entry(call);
    return entry ? exchange(entry, call.number) : h("p", {class: "note"}, t("The journal has no entry for this call."));
  }, open);
}

function exchange(entry, number) {
  return [
    ...entry.messages.map((message) => h("div", {class: `message ${message.role}`}, h("h4", {}, term(message.role)), h("pre", {}, message.content),
      (message.pictures ?? []).map((each) => h("p", {class: "note"}, t("A picture, not kept: {width} × {height} pixels", {width: each.width, height: each.height}))))),
    ...entry.exchanges.map((each, at) => h("div", {class: "message response"},
      h("h4", {}, each.fault ? t("rejected response") : t("response")),
      each.fault && h("p", {class: "fault"}, each.fault),
      each.repairs?.length > 0 && h("p", {class: "note"}, t("Repaired: {repairs}", {repairs: each.repairs.join("; ")})),
      each.thinking && fold(`thinking ${number}.${at}`, t("thinking"), () => h("pre", {}, each.thinking)),
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
    h("p", {class: "facts"}, h("span", {}, new Date(event.at).toLocaleTimeString(locale)),
      href ? h("a", {href}, event.step) : h("span", {}, t("supervisor")), h("code", {}, body.type)),
    body.type === "model_called" || body.type === "model_failed"
      ? callView(live, {...body, failed: body.type === "model_failed", number: event.number}, true)
      : fields(body, `event ${event.number}`, ["type"]),
    h("p", {class: "note"}, t("Event {number}: {title}", {number: event.number, title: event.title})),
  ];
}
