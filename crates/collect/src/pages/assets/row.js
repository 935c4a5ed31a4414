// @ts-check
// A source's row: strip, chart, histogram, and the time to its next call. What the ledger says is
// kept by the second at which a slot begins, so that what is told twice counts once.

import { counted, fill, given } from "./kit/dom.js";
import { Chart } from "./chart.js";
import { translate } from "./reasons.js";

const language = document.documentElement.lang;
const clock = new Intl.DateTimeFormat(language, { hour: "numeric", minute: "2-digit", second: "2-digit" });
/** A value with all its decimals. */
const exact = new Intl.NumberFormat(language, { maximumFractionDigits: 18 });

/** How long the ledger is left alone after it was asked. */
const AGAIN_MS = 5_000;

/**
 * An entry of the ledger.
 * @typedef {{ from: string, status: string, count: number | null, otherCount: number | null,
 *   latenessMs: number | null, reason: string | null }} Slot
 */

export class Row {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    this.name = element.dataset.name ?? "";
    this.interval = Number(element.dataset.interval);
    this.delay = Number(element.dataset.delay);
    this.isPaused = "paused" in element.dataset;
    /** @type {Map<number, Slot>} */
    this.slots = new Map();
    /** What is told since the newest reading of the ledger began, until that ends. @type {Slot[] | null} */
    this.waiting = null;
    /** When the ledger was last asked: never before the desk asks for it. */
    this.asked = Infinity;
    /** Up to when the ledger has said which slots were expected. */
    this.known = 0;
    this.drawnLast = 0;
    const chart = /** @type {HTMLElement} */ (element.querySelector(".chart"));
    this.chart = new Chart(chart, element.dataset.kind === "gauge", (text) => this.point(text));
  }

  /** The beginning of the last slot that is due. @param {number} now */
  last(now) {
    return Math.floor((now - this.delay) / 1000 / this.interval) * this.interval;
  }

  /** When a slot is to be asked for. @param {number} from */
  due(from) {
    return from * 1000 + this.delay;
  }

  /** Reads the ledger; what is told meanwhile is newer, and so is another reading. @param {number} now */
  async load(now) {
    /** @type {Slot[]} */
    const told = [];
    this.waiting = told;
    this.asked = now;
    try {
      const ledger = await this.ledger(now);
      if (this.waiting !== told) return;
      this.slots.clear();
      for (const slot of [...ledger, ...told]) this.keep(slot);
      this.known = now - given.missingAfterMs;
      this.draw(now);
    } finally {
      if (this.waiting === told) this.waiting = null;
    }
  }

  /** @param {number} now @returns {Promise<Slot[]>} */
  async ledger(now) {
    const to = this.last(now) + this.interval;
    const from = to - this.interval * given.chartSlots;
    const spell = (/** @type {number} */ at) => new Date(at * 1000).toISOString().replace(".000", "");
    const answer = await fetch(`/collect/slots/${this.name}?from=${spell(from)}&to=${spell(to)}`);
    if (!answer.ok) throw new Error(`the ledger of ${this.name}: ${answer.status}`);
    return (await answer.json()).slots;
  }

  /** @param {Slot} slot */
  keep(slot) {
    this.slots.set(Date.parse(slot.from) / 1000, slot);
  }

  /**
   * A slot was settled.
   * @param {{ slot: Slot, resting: boolean }} told
   * @param {number} now
   */
  hear({ slot, resting }, now) {
    this.waiting?.push(slot);
    this.keep(slot);
    const badge = /** @type {HTMLElement | null} */ (this.element.querySelector(".resting"));
    if (badge) badge.hidden = !resting;
    this.draw(now);
  }

  /** Time has passed. @param {number} now */
  tick(now) {
    if (this.isPaused) return;
    const last = this.last(now);
    const wait = Math.ceil((this.due(last + this.interval) - now) / 1000);
    fill(this.element, { next: wait > 0 ? counted(given.said.inSeconds, wait) : given.said.now });
    if (last !== this.drawnLast) this.draw(now);
    if (this.isOverdue(now)) this.load(now).catch(() => {});
  }

  /** Whether only the ledger knows what became of a slot: it is missing, or nobody expected it. @param {number} now */
  isOverdue(now) {
    if (this.waiting || now < this.asked + AGAIN_MS) return false;
    for (let from = this.last(now); this.due(from) > this.known; from -= this.interval) {
      if (!this.slots.has(from) && now - this.due(from) > given.missingAfterMs) return true;
    }
    return false;
  }

  /** What is shown of a slot. @param {number} from */
  state(from) {
    const slot = this.slots.get(from);
    if (slot) return slot.status;
    return this.due(from) <= this.known || this.isPaused ? "none" : "waiting";
  }

  /** @param {number} now */
  draw(now) {
    this.drawnLast = this.last(now);
    const first = this.drawnLast - this.interval * (given.chartSlots - 1);
    for (const from of this.slots.keys()) if (from < first) this.slots.delete(from);
    const times = Array.from({ length: given.chartSlots }, (_, nth) => first + nth * this.interval);
    this.chart.show(times, times.map((from) => this.slots.get(from)?.count ?? null));
    this.drawStrip();
    this.drawBars();
    const known = times.findLast((from) => this.slots.has(from));
    if (known !== undefined) fill(this.element, { last: this.tell(known) });
  }

  drawStrip() {
    const cells = /** @type {NodeListOf<HTMLElement>} */ (this.element.querySelectorAll(".strip li"));
    cells.forEach((cell, nth) => {
      const from = this.drawnLast - (cells.length - 1 - nth) * this.interval;
      const [state, told] = [this.state(from), this.tell(from)];
      if (cell.title === told) return;
      cell.dataset.state = state;
      cell.title = told;
      /** @type {HTMLElement} */ (cell.firstElementChild).textContent = told;
    });
  }

  drawBars() {
    const bounds = given.latenessMs;
    const counts = new Array(bounds.length + 1).fill(0);
    for (const { latenessMs } of this.slots.values()) {
      if (latenessMs === null) continue;
      const bar = bounds.findIndex((/** @type {number} */ bound) => latenessMs <= bound);
      counts[bar < 0 ? bounds.length : bar] += 1;
    }
    const most = Math.max(1, ...counts);
    this.element.querySelectorAll(".histogram li").forEach((bar, nth) => {
      bar.querySelector("rect")?.setAttribute("width", String((counts[nth] * 100) / most));
      fill(bar, { bar: counts[nth].toLocaleString(language) });
    });
  }

  /** A slot in words. @param {number} from */
  tell(from) {
    const slot = this.slots.get(from);
    const words = [`${clock.format(new Date(from * 1000))} ${given.states[this.state(from)]}`];
    if (slot) {
      if (slot.count !== null) words.push(given.said.count.replace("{n}", exact.format(slot.count)));
      if (slot.otherCount !== null) words.push(`≠ ${exact.format(slot.otherCount)}`);
      if (slot.latenessMs !== null) words.push(counted(given.said.lateBy, slot.latenessMs));
      if (slot.reason) words.push(translate(slot.reason));
    }
    return words.join(" · ");
  }

  /** Says what is pointed at. @param {string} text */
  point(text) {
    const caption = this.element.querySelector("[data-slot=pointed]");
    if (caption) caption.textContent = text;
  }
}
