// @ts-check
// The distribution of a board, drawn as the server draws it.

import { byId, fill, given } from "./kit/dom.js";
import { valueOf } from "./show.js";

const WIDTH = 480;
const HEIGHT = 160;
const GAP = 3;
const LEAST = 3;

/** @param {any} distribution */
export function draw({ field, steps, line, topN }) {
  const chart = byId("chart");
  chart.hidden = steps.length === 0;
  if (chart.hidden) return;
  const most = Math.max(1, ...steps.map((/** @type {any} */ step) => step.count));
  const width = WIDTH / steps.length;
  byId("bars").replaceChildren(
    ...steps.map((/** @type {any} */ { count }, /** @type {number} */ index) => {
      const height = count && Math.max(LEAST, (count / most) * HEIGHT);
      const at = { x: index * width + GAP / 2, width: width - GAP, y: HEIGHT - height, height, rx: 2 };
      const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      for (const [name, value] of Object.entries(at)) bar.setAttribute(name, String(value));
      return bar;
    }),
  );
  const [worst, best] = [steps[0].from, steps[steps.length - 1].to];
  fill(chart, { worst: valueOf(field, worst), best: valueOf(field, best) });
  const isFull = line !== null;
  const mark = byId("line");
  mark.setAttribute("visibility", isFull ? "visible" : "hidden");
  const place = isFull && best !== worst ? ((line - worst) / (best - worst)) * WIDTH : 0;
  for (const end of ["x1", "x2"]) mark.setAttribute(end, String(Math.min(WIDTH, Math.max(0, place))));
  const said = isFull ? given.said.line.replace("{value}", valueOf(field, line)) : given.said.notFull;
  byId("chart-said").textContent = said.replace("{n}", topN);
}
