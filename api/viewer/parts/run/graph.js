/* A plan as a graph from left to right; color and text show the status of each step. */

import {svg} from "../../lib/dom.js";
import {after, agentsOf, columns, planAndReactions, statusOf} from "../../lib/model.js";
import {seconds, shorten} from "../../lib/format.js";
import {t, term} from "../../lib/i18n.js";

const WIDTH = 142;
const HEIGHT = 62;
const GAP_X = 28;
const GAP_Y = 16;
const MARGIN = 4;

/** The graph of an attempt. `over`: the attempt has finished; `chosen`: key of the open step. */
export function graph(attempt, over, href, chosen) {
  const steps = planAndReactions(attempt);
  const layers = columns(steps);
  const rows = Math.max(...layers.map((layer) => layer.length));
  const width = layers.length * (WIDTH + GAP_X) - GAP_X + 2 * MARGIN;
  const height = rows * (HEIGHT + GAP_Y) - GAP_Y + 2 * MARGIN;
  const places = new Map();
  layers.forEach((layer, x) => {
    const top = (height - layer.length * (HEIGHT + GAP_Y) + GAP_Y) / 2;
    layer.forEach((step, y) => { places.set(step.id, {x: MARGIN + x * (WIDTH + GAP_X), y: top + y * (HEIGHT + GAP_Y)}); });
  });
  return svg("svg", {class: "graph", viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": t("Plan")},
    steps.flatMap((step) => after(step).filter((id) => places.has(id)).map((id) => edge(places.get(id), places.get(step.id), step.reaction))),
    steps.map((step) => node(attempt.steps.get(step.id), places.get(step.id), over, href, chosen)));
}

function edge(from, to, reaction) {
  const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2];
  const bend = Math.max(GAP_X / 2, (x2 - x1) / 2);
  return svg("path", {class: reaction ? "edge reaction" : "edge", d: `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`});
}

function node(step, {x, y}, over, href, chosen) {
  const status = statusOf(step, over);
  const agents = agentsOf(step).join(", ");
  const items = step.items.length > 0 ? ` ${step.items.length}/${step.items[0].of}` : "";
  const lines = step.items.map(({item, found, failed}) => `${item}: ${Object.values(found).join("; ") || (failed ? t("failed") : t("no answer"))}`);
  const took = step.startedAt && step.endedAt ? ` · ${seconds((step.endedAt - step.startedAt) / 1000)}` : "";
  return svg("a", {href: href(step), class: step.key === chosen && "chosen", "data-key": `node ${step.key}`},
    svg("g", {class: `node is-${status.replace(" ", "-")}`},
      svg("title", {}, [`${agents}: ${step.instruction}`, ...lines].join("\n")),
      svg("rect", {x, y, width: WIDTH, height: HEIGHT, rx: 7}),
      svg("rect", {class: "stripe", x, y: y + 9, width: 3.5, height: HEIGHT - 18, rx: 1.75}),
      svg("text", {class: "name", x: x + 14, y: y + 19}, shorten(step.id, 17)),
      svg("text", {class: "agent", x: x + 14, y: y + 36}, shorten(agents, 20)),
      svg("text", {class: "status", x: x + 14, y: y + 52}, `${term(status)}${items}${took}`)));
}
