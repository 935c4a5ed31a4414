// @ts-check
// The overview, live: one stream of events, a moment a second. Lines move on, figures are written.

import { byId, fill, given } from "./kit/dom.js";
import { follow } from "./kit/events.js";
import { age, bytes, millis, number } from "./show.js";

/** As the server drew the first line. */
const [WIDTH, HEIGHT, SECONDS] = [120, 28, 60];
/** A number, and behind it the forms of the word that goes with it, if it has two. */
const COUNTED = /\{(\w)\}(?: \[(.*?)\|(.*?)\])?/g;
const { said } = given;

class Tile {
  /** @param {HTMLElement} element @param {number[]} line */
  constructor(element, line) {
    this.element = element;
    this.room = element.dataset.room ?? "";
    this.line = line;
    this.drawn = /** @type {SVGPolylineElement} */ (element.querySelector("polyline"));
  }

  /** @param {any} tile */
  hear(tile) {
    this.line = [...this.line, tile.rate].slice(-SECONDS);
    this.show(tile);
  }

  /** @param {any} tile */
  show({ rate, deeds, failures, topics }) {
    const most = Math.max(1, ...this.line);
    const first = SECONDS - this.line.length;
    const place = (/** @type {number} */ value, /** @type {number} */ index) => {
      const x = ((first + index) / (SECONDS - 1)) * WIDTH;
      return `${x.toFixed(1)},${(HEIGHT - 1 - (value / most) * (HEIGHT - 2)).toFixed(1)}`;
    };
    this.drawn.setAttribute("points", this.line.map(place).join(" "));
    const slots = { n: deeds, m: topics, f: failures };
    const told = deeds + failures > 0 ? said.sentences[this.room] : said.quiet;
    const sentence = told.replace(COUNTED, (/** @type {string} */ _, /** @type {"n" | "m" | "f"} */ slot, /** @type {string | undefined} */ one, /** @type {string} */ many) =>
      number(slots[slot]) + (one === undefined ? "" : ` ${slots[slot] === 1 ? one : many}`));
    fill(this.element, { rate: number(rate), sentence });
  }
}

const tiles = Array.from(document.querySelectorAll(".tile"), (element, index) => new Tile(/** @type {HTMLElement} */ (element), given.lines[index] ?? []));

/** @param {any} moment */
function showHouse({ store, queues, facts, readers }) {
  const commit = store.meanMs == null ? "–" : said.most.replace("{mean}", millis(store.meanMs)).replace("{most}", store.mostMs == null ? "∞" : millis(store.mostMs));
  fill(byId("store"), {
    writes: said.aSecond.replace("{n}", number(store.writes)),
    commit,
    size: bytes(store.bytes),
    backup: store.backupSeconds == null ? said.never : age(store.backupSeconds),
  });
  byId("stopped").hidden = store.isWritable !== false;
  fill(byId("queues"), { depth: number(queues.depth), oldest: age(queues.oldestSeconds), dead: number(queues.dead) });
  fill(byId("facts"), { told: number(facts.told), done: number(facts.done), retried: number(facts.retried), factsDead: number(facts.dead) });
  byId("readers").textContent = number(readers);
}

/** @param {any} moment */
function hear(moment) {
  if (moment.type === "gap") return;
  moment.tiles.forEach((/** @type {any} */ tile, /** @type {number} */ index) => tiles[index].hear(tile));
  showHouse(moment);
  document.body.dataset.at = String(moment.at);
}

/** Whether the page goes to the sign-in page: once, however often a try fails meanwhile. */
let isLeaving = false;

/** @param {boolean} is */
async function connected(is) {
  byId("state").textContent = is ? said.live : said.away;
  if (is) return;
  // Whoever was signed out is asked to sign in, instead of waiting for ever.
  const answer = await fetch(location.pathname, { method: "HEAD" }).catch(() => null);
  if (answer?.status !== 401 || isLeaving) return;
  isLeaving = true;
  location.reload();
}

given.now.tiles.forEach((/** @type {any} */ tile, /** @type {number} */ index) => tiles[index].show(tile));
showHouse(given.now);
follow("/console/stream", "", { hear, connected });
