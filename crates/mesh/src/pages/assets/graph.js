// @ts-check
// A small group as a drawing: the host in the middle, members on a circle around it. Drawings are
// copies of what the server rendered, moved and filled with text.

import { byId } from "./kit/dom.js";

const [MIDDLE_X, MIDDLE_Y, FAR] = [200, 184, 142];
const SVG = "http://www.w3.org/2000/svg";
/** Members up to a number have this size, and room for so many values; the last one is for all others. */
const SIZES = [
  { most: 5, scale: 1.25, values: 2 },
  { most: 8, scale: 1, values: 2 },
  { most: Infinity, scale: 0.82, values: 1 },
];
/** How wide a line below a node may be, and a line of its name, in wide letters. */
const [VALUE, NAME] = [8.5, 4.2];

/** How wide a text is, in wide letters: those of Japanese are, and others take about half. @param {string} text */
function width(text) {
  let sum = 0;
  for (const letter of text) sum += /** @type {number} */ (letter.codePointAt(0)) > 0x2e7f ? 1 : 0.58;
  return sum;
}

/** @param {string} text @param {number} most */
function cut(text, most) {
  if (width(text) <= most) return text;
  const letters = Array.from(text);
  while (letters.length > 1 && width(letters.join("")) > most - 1) letters.pop();
  return `${letters.join("").trimEnd()}…`;
}

/** A name in one line or two: at its space, or in its middle. @param {string} name */
function lines(name) {
  if (width(name) <= NAME) return [name];
  const [first, ...rest] = name.split(/\s+/);
  if (rest.length > 0 && width(first) <= NAME) return [first, cut(rest.join(" "), NAME)];
  const letters = Array.from(name);
  let half = 1;
  while (half < letters.length && width(letters.slice(0, half).join("")) < Math.min(NAME - 0.5, width(name) / 2)) half += 1;
  return [letters.slice(0, half).join(""), cut(letters.slice(half).join(""), NAME)];
}

/**
 * A ring runs out until its node is heard of again.
 * @param {Element} drawing @param {any} node @param {number} now
 */
export function turnRing(drawing, node, now) {
  const left = Math.max(0, Math.min(1, 1 - (now - node.heardMs) / node.leaseMs));
  const ring = /** @type {SVGElement} */ (drawing.querySelector(".ring"));
  ring.setAttribute("stroke-dasharray", `${(left * 100).toFixed(1)} 100`);
  ring.classList.toggle("late", left < 0.5);
}

export class Graph {
  /** @param {SVGElement} svg */
  constructor(svg) {
    this.svg = svg;
    this.threads = /** @type {SVGGElement} */ (svg.querySelector(".threads"));
    this.drawings = /** @type {SVGGElement} */ (svg.querySelector(".nodes"));
    /** @type {Map<string, { drawing: SVGGElement, thread: SVGLineElement | null, node: any }>} */
    this.nodes = new Map();
    this.size = SIZES[0];
  }

  /** Draws who is here; who has gone goes. @param {any[]} nodes the host first */
  show(nodes) {
    this.svg.toggleAttribute("hidden", nodes.length === 0);
    const here = new Set(nodes.map(({ id }) => id));
    for (const [id, { drawing, thread }] of this.nodes) {
      if (here.has(id)) continue;
      drawing.remove();
      thread?.remove();
      this.nodes.delete(id);
    }
    const members = nodes.filter(({ isHost }) => !isHost);
    this.size = SIZES.find(({ most }) => members.length <= most) ?? SIZES[0];
    for (const node of nodes) {
      const turn = (members.indexOf(node) / Math.max(1, members.length)) * 2 * Math.PI - Math.PI / 2;
      const [x, y] = node.isHost ? [MIDDLE_X, MIDDLE_Y] : [MIDDLE_X + FAR * Math.cos(turn), MIDDLE_Y + FAR * Math.sin(turn)];
      this.place(node, x, y);
    }
  }

  /** @param {any} node @param {number} x @param {number} y */
  place(node, x, y) {
    let known = this.nodes.get(node.id);
    if (!known) {
      const drawing = byId("drawn").content.querySelector(".node").cloneNode(true);
      const thread = node.isHost ? null : /** @type {SVGLineElement} */ (document.createElementNS(SVG, "line"));
      if (thread) this.threads.append(thread);
      this.drawings.append(drawing);
      known = { drawing, thread, node };
      this.nodes.set(node.id, known);
    }
    known.node = node;
    const { drawing, thread } = known;
    drawing.classList.toggle("host", node.isHost);
    drawing.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${this.size.scale})`);
    for (const [name, value] of [["x1", MIDDLE_X], ["y1", MIDDLE_Y], ["x2", x], ["y2", y]]) thread?.setAttribute(String(name), String(value));
    this.refresh(node);
  }

  /** Writes the name and the values of a node, if it is drawn here. @param {any} node */
  refresh(node) {
    const drawing = this.nodes.get(node.id)?.drawing;
    if (!drawing) return;
    const [above, below] = drawing.querySelectorAll(".id");
    const [first, second] = lines(node.name);
    const isWide = Math.max(width(first), width(second ?? "")) > 3;
    drawing.classList.toggle("wide", isWide);
    above.textContent = first;
    below.textContent = second ?? "";
    above.setAttribute("y", second ? "-2" : "6");
    below.setAttribute("y", "14");
    drawing.querySelectorAll(".value").forEach((line, nth) => {
      const [key, value] = (nth < this.size.values && node.data[nth]) || [];
      line.textContent = key === undefined ? "" : cut(`${key} ${value}`, VALUE);
    });
  }

  /** @param {number} now */
  tick(now) {
    for (const { drawing, node } of this.nodes.values()) turnRing(drawing, node, now);
  }

  /** @param {string} id */
  flash(id) {
    const drawing = this.nodes.get(id)?.drawing;
    if (!drawing) return;
    drawing.classList.remove("flash");
    // Begins anew if it flashes already.
    drawing.getBoundingClientRect();
    drawing.classList.add("flash");
  }
}
