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
        { ...axis, size: 56, values: (/** @type {any} */ _, /** @type {number[]} */ at) => at.map(short) },
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

/** @param {number} value */
function short(value) {
  return compact.format(value);
}
