// @ts-check
// The rows of a ranking: kept by what a stream tells, drawn once for all that comes in a frame, and
// sliding from where they were to where they are.

import { copy, fill } from "./kit/dom.js";
import { number, seconds } from "./show.js";

/** @typedef {{ userId: string, userName: string, score: number, timeMs: number, ver: number }} Row */

const SLIDE_MS = 500;
const isCalm = matchMedia("(prefers-reduced-motion: reduce)");

export class Rows {
  /** @type {Row[]} */
  #rows = [];
  #topN = Infinity;
  #first = 1;
  /** @type {Map<string, HTMLElement>} */
  #elements = new Map();
  #isDue = false;

  /**
   * @param {HTMLElement} body
   * @param {() => string} me the user who looks
   */
  constructor(body, me) {
    this.body = body;
    this.me = me;
    for (const element of /** @type {any} */ (body.children)) {
      this.#elements.set(element.dataset.user, element);
    }
  }

  get isEmpty() {
    return this.#rows.length === 0;
  }

  /**
   * Takes what a stream tells.
   * @param {any} told
   */
  hear(told) {
    switch (told.type) {
      case "board":
        this.show(told.rows, told.topN);
        break;
      case "change":
        this.#take(told.row.userId, told.row.ver, [told.row, told.entered]);
        break;
      case "remove":
        // It goes with the version that it has.
        this.#take(told.userId, told.ver + 1, [told.entered]);
        break;
    }
  }

  /**
   * Shows these rows and no others.
   * @param {any[]} rows
   * @param {number} [topN]
   */
  show(rows, topN = Infinity) {
    this.#rows = rows.map((row) => ({ ...row }));
    this.#first = rows[0]?.rank ?? 1;
    this.#topN = topN;
    this.draw();
  }

  /**
   * Takes a row out and puts others in at their ranks, unless what is known is as new.
   * @param {string} userId
   * @param {number} ver
   * @param {any[]} others
   */
  #take(userId, ver, others) {
    const known = this.#rows.findIndex((row) => row.userId === userId);
    if (known >= 0 && this.#rows[known].ver >= ver) return;
    if (known >= 0) this.#rows.splice(known, 1);
    for (const row of others) {
      if (!row || row.rank > this.#topN) continue;
      const there = this.#rows.findIndex((other) => other.userId === row.userId);
      if (there >= 0 && this.#rows[there].ver >= row.ver) continue;
      if (there >= 0) this.#rows.splice(there, 1);
      this.#rows.splice(row.rank - 1, 0, row);
    }
    this.#rows.length = Math.min(this.#rows.length, this.#topN);
    this.draw();
  }

  /** Draws soon, once for all that changes until then. */
  draw() {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#drawNow();
    });
  }

  #drawNow() {
    const tops = new Map();
    for (const element of this.body.children) tops.set(element, element.getBoundingClientRect().top);
    const shown = new Set();
    this.#rows.forEach((row, index) => {
      const element = this.#elements.get(row.userId) ?? copy("row");
      this.#elements.set(row.userId, element);
      this.#fill(element, row, this.#first + index);
      if (this.body.children[index] !== element) {
        this.body.insertBefore(element, this.body.children[index] ?? null);
      }
      shown.add(element);
    });
    for (const [user, element] of this.#elements) {
      if (shown.has(element)) continue;
      element.remove();
      this.#elements.delete(user);
    }
    if (isCalm.matches) return;
    for (const element of shown) slide(element, tops.get(element));
  }

  /**
   * @param {HTMLElement} element
   * @param {Row} row
   * @param {number} rank
   */
  #fill(element, row, rank) {
    const { userId, userName, score, timeMs, ver } = row;
    fill(element, { rank: number(rank), name: userName, score: number(score), time: seconds(timeMs) });
    const isBetter = element.dataset.ver !== undefined && Number(element.dataset.ver) < ver;
    if (isBetter && !isCalm.matches) flash(element);
    Object.assign(element.dataset, { user: userId, ver, rank });
    element.classList.toggle("mine", userId === this.me());
  }
}

/**
 * Moves a row from where it was; one that is new comes out of the paper.
 * @param {HTMLElement} element
 * @param {number | undefined} top
 */
function slide(element, top) {
  const how = { duration: SLIDE_MS, easing: "cubic-bezier(0.2, 0.8, 0.2, 1)" };
  if (top === undefined) {
    element.animate({ opacity: [0, 1] }, how);
    return;
  }
  const way = top - element.getBoundingClientRect().top;
  if (Math.abs(way) >= 1) element.animate({ transform: [`translateY(${way}px)`, "none"] }, how);
}

/** @param {HTMLElement} element */
function flash(element) {
  const color = getComputedStyle(document.body).getPropertyValue("--wash");
  element.animate({ backgroundColor: [color, "transparent"] }, { duration: SLIDE_MS * 3 });
}
