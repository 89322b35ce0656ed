/* The state of a run, built from its events: attempts, their steps, and what each step did. No DOM here. */

import {eventLine} from "./format.js";

const REFERENCE = /@\{outputs\.([a-z][a-z0-9_]*)\.[a-z][a-z0-9_]*\}/g;

export class RunModel {
  constructor() {
    this.events = []; this.started = null; this.resumed = [];
    this.reset();
  }

  /** Add the next events, in order. */
  add(events) {
    for (const event of events) {
      this.events.push(event);
      this.apply(event);
    }
  }

  get began() {
    return this.events.length ? Date.parse(this.events[0].at) : null;
  }

  get ended() {
    return this.finished ? Date.parse(this.events.at(-1).at) : null;
  }

  get usage() {
    return sum([this.panel, ...this.steps].map((step) => step.usage));
  }

  /** Claims of the answer that the last attempt is writing. */
  get drafts() {
    return [...(this.attempts.at(-1)?.steps.values() ?? [])].flatMap((step) => step.drafts);
  }

  /** The last version of each computation, by number. */
  get computations() {
    const written = this.writes.flatMap(({wrote}) => wrote.computations ?? []);
    return [...new Map(written.map((each) => [each.number, each])).values()];
  }

  /** Calls that a model is answering now, oldest first. */
  get open() {
    return [this.panel, ...this.steps].flatMap((step) => step.asked).sort((a, b) => a.at - b.at);
  }

  get steps() {
    return this.attempts.flatMap((attempt) => [...attempt.steps.values()]);
  }

  /** Find a step by its key in links: "find", or "find@2" in the second attempt. */
  step(key) {
    return this.steps.find((step) => step.key === key) ?? null;
  }

  apply(event) {
    const {body} = event;
    const step = event.step ? this.stepOf(event) : this.panel;
    step.changed = event.number;
    step.events.push(event);
    (APPLY[body.type] ?? (() => {}))(this, body, step, event);
  }

  /** Reset after a restart of the service: the run starts over, and the journal answers its finished model calls. */
  restart(event) {
    this.reset();
    this.resumed.push(Date.parse(event.at));
    this.panel.events.push(event);
  }

  reset() {
    this.finished = null; this.planned = null; this.completed = null; this.declined = "";
    this.attempts = []; this.approvals = new Map(); this.counted = new Set(); this.votes = [];
    this.found = []; this.passages = new Map(); // searches with new passages; all passages found, by id
    this.writes = []; // what steps added to the context, in order
    this.panel = emptyStep("", 0, null); // events outside of steps: planning, voting, explaining
  }

  stepOf(event) {
    if (!this.attempts.length) this.startAttempt(1, null, "");
    const attempt = this.attempts.at(-1);
    if (!attempt.steps.has(event.step)) attempt.steps.set(event.step, emptyStep(event.step, attempt.number, null));
    return attempt.steps.get(event.step);
  }

  startAttempt(number, plan, diagnosis) {
    const steps = new Map((plan?.steps ?? []).map((each) => [each.id, emptyStep(each.id, number, each)]));
    this.attempts.push({number, plan, diagnosis, steps, outcome: null, findings: []});
  }

  /** Keep a search with the passages that no earlier one found, numbered over all searches. */
  addSearch(body) {
    const passages = body.passages.filter((each) => !this.passages.has(each.chunk_id)).map((each) => {
      this.passages.set(each.chunk_id, {...each, number: this.passages.size + 1});
      return this.passages.get(each.chunk_id);
    });
    if (body.passages.length) this.found.push({...body, passages});
  }

  endCall(step, body) {
    const at = step.asked.findIndex(({caller}) => caller === body.caller);
    if (at >= 0) step.asked.splice(at, 1);
  }

  addCall(step, body, event) {
    step.calls.push({...body, number: event.number, at: Date.parse(event.at)});
    const entry = `${body.key}/${body.occurrence}`;
    if (body.key && this.counted.has(entry)) return; // a retried step got it from the journal
    this.counted.add(entry);
    step.usage = sum([step.usage, body.usage]);
  }
}

const APPLY = {
  run_started: (run, body) => { run.started = body; },
  run_resumed: (run, body, step, event) => run.restart(event),
  question_completed: (run, body) => { run.completed = body; },
  plan_made: (run, body) => {
    run.planned = body;
    run.startAttempt(1, body.plan, "");
  },
  plan_revised: (run, body) => run.startAttempt(body.attempt, body.plan, body.diagnosis),
  attempt_ended: (run, body, step, event) => {
    const attempt = run.attempts.find((each) => each.number === body.attempt.number);
    if (!attempt) return;
    attempt.outcome = {...body.attempt, line: eventLine(event)};
    attempt.findings = body.key_findings;
    for (const {step} of body.attempt.failed) {
      const failed = attempt.steps.get(step);
      if (failed) failed.lost = failed.turns.length > 0 || failed.failures.length > 0; // else it never started
    }
  },
  revision_declined: (run, body) => { run.declined = body.reason; },
  plan_rejected: (run, body, step) => { step.faults.push(...body.faults); },
  step_started: (run, body, step, event) => {
    step.startedAt ??= Date.parse(event.at);
    step.instruction = body.instruction;
    step.turns.push({agent: body.agent, number: event.number});
    if (body.task) step.tasks.push(body);
    step.reads = [...new Set([...step.reads, ...body.reads])];
    step.wokenBy = body.woken_by;
    step.heard = body.heard ?? [];
  },
  step_retried: (run, body, step) => {
    step.retries.push(body);
    step.asked = [];
    step.drafts = [];
  },
  step_skipped: (run, body, step, event) => {
    step.skipped.push(body);
    step.endedAt = Date.parse(event.at);
  },
  step_failed: (run, body, step, event) => {
    step.failures.push(body);
    step.asked = []; // no event ends its cancelled calls
    step.drafts = [];
    step.endedAt = Date.parse(event.at);
  },
  step_finished: (run, body, step, event) => {
    step.wrote.push(body);
    run.writes.push({number: event.number, step, wrote: body.wrote});
    step.endedAt = Date.parse(event.at);
    step.votes.push(...run.votes.splice(0)); // the vote event comes just before the end of its step
  },
  reasoning_shared: (run, body, step) => { step.reasoning.push(body); },
  model_asked: (run, body, step, event) => { step.asked.push({...body, at: Date.parse(event.at)}); },
  model_called: (run, body, step, event) => {
    if (!body.replayed) run.endCall(step, body);
    run.addCall(step, body, event);
  },
  model_failed: (run, body, step, event) => {
    run.endCall(step, body);
    step.calls.push({...body, failed: true, number: event.number, at: Date.parse(event.at)});
    step.usage = sum([step.usage, body.usage]);
  },
  prompt_shortened: (run, body, step) => { step.shortened.push(body); },
  response_repaired: (run, body, step) => { step.repaired.push(body); },
  claim_drafted: (run, body, step) => { step.drafts.push(body); },
  draft_withdrawn: (run, body, step) => { step.drafts = []; },
  searched: (run, body, step) => {
    step.searches.push(body);
    run.addSearch(body);
  },
  item_read: (run, body, step) => { step.items = [...step.items.filter(({item}) => item !== body.item), body]; },
  evidence_rejected: (run, body, step) => { step.rejected.push(body); },
  computed: (run, body, step) => { step.computed.push(body); },
  tool_called: (run, body, step) => { step.tools.push({...body, returned: null}); },
  tool_returned: (run, body, step) => {
    const called = step.tools.findLast((each) => each.key === body.key && each.occurrence === body.occurrence);
    if (called) called.returned = body;
  },
  approval_requested: (run, body, step, {title, details}) => {
    const request = {...body, title, details, decided: null};
    run.approvals.set(body.approval_id, request);
    step.approvals.push(request);
  },
  approval_decided: (run, body, step, {title, details}) => {
    const request = run.approvals.get(body.approval_id);
    if (request) request.decided = {...body, title, details};
  },
  voted: (run, body) => { run.votes.push(body); },
  run_finished: (run, body) => { run.finished = body; },
};

function emptyStep(id, attempt, plan) {
  return {
    id, attempt, plan,
    key: attempt > 1 ? `${id}@${attempt}` : id,
    instruction: plan?.instruction ?? "",
    wokenBy: null, heard: [],
    changed: 0, lost: false, startedAt: null, endedAt: null, usage: sum([]),
    events: [], turns: [], tasks: [], reads: [], retries: [], skipped: [], failures: [], wrote: [], reasoning: [],
    asked: [], calls: [], searches: [], items: [], rejected: [], repaired: [], shortened: [], computed: [], tools: [], approvals: [], votes: [], faults: [], drafts: [],
  };
}

/** Return the status of a step. `over`: its attempt has finished. */
export function statusOf(step, over) {
  if (step.lost) return "failed";
  if (step.wrote.length) return "done";
  const open = step.turns.length - step.retries.length - step.failures.length;
  if (open > 0) return over ? "stopped" : "running";
  if (step.failures.length) return "failed";
  if (step.skipped.length) return "skipped";
  return over ? "not run" : "waiting";
}

/** Return the agents of a step: those of the plan or, without a plan, those that ran. */
export function agentsOf(step) {
  return step.plan?.agents ?? [...new Set([...step.turns, ...step.skipped].map((turn) => turn.agent))];
}

/** Return the ids of the steps that a step waits for: its `needs`, and the steps that its inputs refer to. */
export function after(planStep) {
  const named = JSON.stringify([planStep.instruction, planStep.inputs]).matchAll(REFERENCE);
  return [...new Set([...planStep.needs, ...[...named].map(([, step]) => step)])];
}

/** Return the steps of the plan, and the reactions as steps after the one whose event woke them. */
export function planAndReactions(attempt) {
  const reactions = [...attempt.steps.values()].filter((step) => step.wokenBy).map((step) => (
    {id: step.id, agents: agentsOf(step), instruction: step.instruction, inputs: {}, needs: [step.wokenBy.step], reaction: true}));
  return [...attempt.plan.steps, ...reactions];
}

/** Return steps in columns, each to the right of all steps it waits for. */
export function columns(planSteps) {
  const steps = new Map(planSteps.map((step) => [step.id, step]));
  const depths = new Map();
  const depthOf = (step) => {
    if (!depths.has(step.id)) {
      const before = after(step).filter((id) => steps.has(id)).map((id) => depthOf(steps.get(id)));
      depths.set(step.id, before.length ? Math.max(...before) + 1 : 0);
    }
    return depths.get(step.id);
  };
  const found = [];
  for (const step of planSteps) (found[depthOf(step)] ??= []).push(step);
  return found;
}

export function sum(usages) {
  const total = {model_calls: 0, prompt_tokens: 0, completion_tokens: 0, seconds: 0, cost: 0};
  for (const usage of usages) for (const name of Object.keys(total)) total[name] += usage[name];
  return total;
}
