// @ts-check
// A line of the overview: a minute of seconds or an hour of minutes, with its scale, and the value
// under the pointer.

import { fill } from "./kit/dom.js";
import { number } from "./show.js";

/** As the server drew the first line. */
const [WIDTH, HEIGHT, SLOTS] = [120, 32, 60];
const language = document.documentElement.lang;
const second = new Intl.DateTimeFormat(language, { hour: "numeric", minute: "2-digit", second: "2-digit" });
const minute = new Intl.DateTimeFormat(language, { hour: "numeric", minute: "2-digit" });

export class Chart {
  /**
   * @param {HTMLElement} element
   * @param {{ scale: string, minute: string, hour: string }} words
   * @param {number[]} seconds
   * @param {number[]} minutes
   */
  constructor(element, words, seconds, minutes) {
    this.element = element;
    this.words = words;
    this.seconds = seconds;
    this.minutes = minutes;
    this.isHour = false;
    /** When the newest value of each line was. */
    this.at = 0;
    this.minuteAt = 0;
    this.line = /** @type {SVGPolylineElement} */ (element.querySelector("polyline"));
    this.area = /** @type {SVGPolygonElement} */ (element.querySelector("polygon"));
    this.cursor = /** @type {HTMLElement} */ (element.querySelector(".cursor"));
    this.reading = /** @type {HTMLElement} */ (element.querySelector(".reading"));
    /** Where the pointer is, as a part of the width. */
    this.pointed = NaN;
    element.addEventListener("pointermove", (event) => this.point(event));
    element.addEventListener("pointerleave", () => this.leave());
  }

  /** @param {number} at */
  begin(at) {
    this.at = at;
    this.minuteAt = at;
    this.draw();
  }

  /** @param {number} at @param {number} rate @param {number | undefined} ended the rate of the minute that has just ended */
  hear(at, rate, ended) {
    this.at = at;
    this.seconds = [...this.seconds, rate].slice(-SLOTS);
    if (ended !== undefined) {
      this.minuteAt = at;
      this.minutes = [...this.minutes, ended].slice(-SLOTS);
    }
    this.draw();
  }

  /** @param {boolean} isHour */
  span(isHour) {
    this.isHour = isHour;
    this.draw();
  }

  draw() {
    const values = this.isHour ? this.minutes : this.seconds;
    const most = Math.max(1, ...values);
    const first = SLOTS - values.length;
    const x = (/** @type {number} */ index) => (((first + index) / (SLOTS - 1)) * WIDTH).toFixed(1);
    const points = values.map((value, index) => `${x(index)},${(HEIGHT - 1 - (value / most) * (HEIGHT - 2)).toFixed(1)}`).join(" ");
    this.line.setAttribute("points", points);
    this.area.setAttribute("points", points && `${x(0)},${HEIGHT} ${points} ${WIDTH},${HEIGHT}`);
    fill(this.element, { most: this.withUnit(most), from: this.isHour ? this.words.hour : this.words.minute });
    this.read();
  }

  /** @param {number} value */
  withUnit(value) {
    return this.words.scale.replace("{n}", number(value));
  }

  /** @param {PointerEvent} event */
  point({ clientX }) {
    const { left, width } = this.element.getBoundingClientRect();
    this.pointed = Math.min(1, Math.max(0, (clientX - left) / width));
    this.read();
  }

  leave() {
    this.pointed = NaN;
    this.read();
  }

  /** Writes the value under the pointer, and when it was. */
  read() {
    const values = this.isHour ? this.minutes : this.seconds;
    const slot = Math.round(this.pointed * (SLOTS - 1));
    const value = values[slot - (SLOTS - values.length)];
    const isRead = value !== undefined;
    this.cursor.hidden = !isRead;
    this.reading.hidden = !isRead;
    if (!isRead) return;
    const back = SLOTS - 1 - slot;
    const time = this.isHour ? minute.format(this.minuteAt - back * 60_000) : second.format(this.at - back * 1_000);
    this.cursor.style.insetInlineStart = `${(slot / (SLOTS - 1)) * 100}%`;
    this.reading.textContent = `${this.withUnit(value)} · ${time}`;
    this.reading.classList.toggle("early", slot < SLOTS / 2);
  }
}
