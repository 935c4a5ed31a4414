// @ts-check
// A chart of a source's values, with gaps where no value came.

import uPlot from "./kit/uplot.js";

const language = document.documentElement.lang;
const clock = new Intl.DateTimeFormat(language, { hour: "numeric", minute: "2-digit", second: "2-digit" });
const HEIGHT = 150;

/** Values over time. */
export class Chart {
  /**
   * @param {HTMLElement} place
   * @param {boolean} isGauge whose values need not begin at nought
   * @param {(text: string) => void} point says what is pointed at
   */
  constructor(place, isGauge, point) {
    this.place = place;
    this.isGauge = isGauge;
    this.point = point;
    /** @type {[number[], (number | null)[]]} */
    this.data = [[], []];
    this.plot = this.draw();
    new ResizeObserver(() => this.plot.setSize(this.size())).observe(place);
    // A canvas does not follow the theme by itself.
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.plot.destroy();
      this.plot = this.draw();
    });
  }

  size() {
    return { width: Math.max(this.place.clientWidth, 200), height: HEIGHT };
  }

  draw() {
    const style = getComputedStyle(this.place);
    const [line, ink, grid] = [style.color, style.outlineColor, style.borderTopColor];
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: `11px ${style.fontFamily}` };
    const options = {
      ...this.size(),
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false } },
      scales: { y: { range: this.isGauge ? around : span } },
      axes: [
        { ...axis, space: 90, values: (/** @type {any} */ _, /** @type {number[]} */ at) => at.map(time) },
        { ...axis, size: room, values: marks },
      ],
      series: [{}, { stroke: line, width: 1.5, fill: "transparent", spanGaps: false, points: { show: true, size: 4, fill: line } }],
      hooks: { setCursor: [(/** @type {any} */ plot) => this.pointed(plot)] },
    };
    return new uPlot(options, this.data, this.place);
  }

  /**
   * @param {number[]} times seconds
   * @param {(number | null)[]} values
   */
  show(times, values) {
    this.data = [times, values];
    this.plot.setData(this.data);
  }

  /** @param {any} plot */
  pointed(plot) {
    const index = plot.cursor.idx;
    if (index == null) return this.point("");
    const value = this.data[1][index];
    this.point(`${time(this.data[0][index])} · ${value ?? "–"}`);
  }
}

/**
 * Values from nought on, with room for a line that is flat.
 * @param {any} _
 * @param {number | null} least
 * @param {number | null} most
 */
function span(_, least, most) {
  const top = Math.max(most ?? 1, 1);
  return [Math.min(0, least ?? 0), top * 1.1];
}

/**
 * The values of a gauge, with room above and below them.
 * @param {any} _
 * @param {number | null} least
 * @param {number | null} most
 */
function around(_, least, most) {
  const [low, high] = [least ?? 0, most ?? 1];
  const room = (high - low || Math.abs(high) || 1) * 0.1;
  return [low - room, high + room];
}

/** @param {number} seconds */
function time(seconds) {
  return clock.format(new Date(seconds * 1000));
}

const compact = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 });

/**
 * Marks of the axis, with so many digits that neighbours differ.
 * @param {any} _
 * @param {number[]} values
 * @param {number} __
 * @param {number} ___
 * @param {number} step
 */
function marks(_, values, __, ___, step) {
  if (step >= 1000) return values.map((value) => compact.format(value));
  const digits = Math.max(0, Math.ceil(-Math.log10(step)) + 1);
  const plain = new Intl.NumberFormat(language, { maximumFractionDigits: Math.min(digits, 18) });
  return values.map((value) => plain.format(value));
}

/**
 * The width of the axis, which grows with its longest mark.
 * @param {any} _
 * @param {string[] | null} marks
 */
function room(_, marks) {
  const longest = Math.max(0, ...(marks ?? []).map(({ length }) => length));
  return Math.max(56, 20 + longest * 7);
}
