// @ts-check
// A large group as a grid: a tile for each node, with its name, its values, and a ring that runs out.

import { copy, fill } from "./kit/dom.js";
import { turnRing } from "./graph.js";

/** @typedef {{ tile: HTMLElement, node: any }} Placed */

export class Tiles {
  /** @param {HTMLElement} grid */
  constructor(grid) {
    this.grid = grid;
    /** @type {Map<string, Placed>} */
    this.nodes = new Map();
  }

  /** Shows who is here; who has gone goes. @param {any[]} nodes the host first */
  show(nodes) {
    this.grid.hidden = nodes.length === 0;
    const here = new Set(nodes.map(({ id }) => id));
    for (const [id, { tile }] of this.nodes) {
      if (here.has(id)) continue;
      tile.remove();
      this.nodes.delete(id);
    }
    nodes.forEach((node, place) => this.place(node, place));
  }

  /** @param {any} node @param {number} place */
  place(node, place) {
    const tile = this.nodes.get(node.id)?.tile ?? copy("tile");
    this.nodes.set(node.id, { tile, node });
    tile.classList.toggle("host", node.isHost);
    this.refresh(node);
    if (this.grid.children[place] !== tile) this.grid.insertBefore(tile, this.grid.children[place] ?? null);
  }

  /** Writes the name and the values of a node, if it has a tile here. @param {any} node */
  refresh(node) {
    const tile = this.nodes.get(node.id)?.tile;
    if (!tile) return;
    fill(tile, { name: node.name });
    tile.querySelectorAll(".value").forEach((line, nth) => {
      const [key, value] = node.data[nth] ?? [];
      line.textContent = key === undefined ? "" : `${key} ${value}`;
    });
  }

  /** @param {number} now */
  tick(now) {
    for (const { tile, node } of this.nodes.values()) turnRing(tile, node, now);
  }

  /** @param {string} id */
  flash(id) {
    const tile = this.nodes.get(id)?.tile;
    if (!tile) return;
    tile.classList.remove("flash");
    // Begins anew if it flashes already.
    tile.getBoundingClientRect();
    tile.classList.add("flash");
  }
}
