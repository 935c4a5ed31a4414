// @ts-check
// A group as a drawing: the host in the middle, members on a circle around it. Drawings are copies
// of what the server rendered, moved and filled with text.

import { byId } from "./kit/dom.js";

const [MIDDLE, FAR] = [200, 140];
const SVG = "http://www.w3.org/2000/svg";
/** Letters that fit a node, and a line below it. */
const [NAME, VALUE] = [6, 14];

/** @param {string} text @param {number} most */
function cut(text, most) {
  const letters = Array.from(text);
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
}

export class Graph {
  /** @param {SVGElement} svg */
  constructor(svg) {
    this.threads = /** @type {SVGGElement} */ (svg.querySelector(".threads"));
    this.drawings = /** @type {SVGGElement} */ (svg.querySelector(".nodes"));
    /** @type {Map<string, { drawing: SVGGElement, thread: SVGLineElement | null, node: any }>} */
    this.nodes = new Map();
  }

  /** Draws who is here; who has gone goes. @param {any[]} nodes the host first */
  show(nodes) {
    const here = new Set(nodes.map(({ id }) => id));
    for (const [id, { drawing, thread }] of this.nodes) {
      if (here.has(id)) continue;
      drawing.remove();
      thread?.remove();
      this.nodes.delete(id);
    }
    const members = nodes.filter(({ isHost }) => !isHost);
    const size = Math.min(1, 16 / Math.max(1, members.length));
    for (const node of nodes) {
      const turn = (members.indexOf(node) / Math.max(1, members.length)) * 2 * Math.PI - Math.PI / 2;
      const [x, y] = node.isHost ? [MIDDLE, MIDDLE] : [MIDDLE + FAR * Math.cos(turn), MIDDLE + FAR * Math.sin(turn)];
      this.place(node, x, y, node.isHost ? 1.25 : Math.max(0.45, size));
    }
  }

  /** @param {any} node @param {number} x @param {number} y @param {number} scale */
  place(node, x, y, scale) {
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
    drawing.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${scale})`);
    for (const [name, value] of [["x1", MIDDLE], ["y1", MIDDLE], ["x2", x], ["y2", y]]) thread?.setAttribute(String(name), String(value));
    const [id, first, second] = drawing.querySelectorAll("text");
    id.textContent = cut(node.id, NAME);
    const told = node.data.map((/** @type {string[]} */ [key, value]) => cut(`${key} ${value}`, VALUE));
    first.textContent = told[0] ?? "";
    second.textContent = told[1] ?? "";
  }

  /** Rings run out until somebody is heard of again. @param {number} now */
  tick(now) {
    for (const { drawing, node } of this.nodes.values()) {
      const left = Math.max(0, Math.min(1, 1 - (now - node.heardMs) / node.leaseMs));
      const ring = /** @type {SVGElement} */ (drawing.querySelector(".ring"));
      ring.setAttribute("stroke-dasharray", `${(left * 100).toFixed(1)} 100`);
      ring.classList.toggle("late", left < 0.5);
    }
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
