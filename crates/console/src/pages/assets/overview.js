// @ts-check
// The overview, live: one stream of events, a moment a second. Lines move on, figures are written,
// problems come and go, and first steps disappear when they are done.

import { Chart } from "./chart.js";
import { byId, copy, fill, given } from "./kit/dom.js";
import { follow } from "./kit/events.js";
import { age, bytes, millis, number } from "./show.js";

/** A number, and after it the forms of the word that goes with it, if it has two. */
const COUNTED = /\{(\w)\}(?: \[(.*?)\|(.*?)\])?/g;
const { said, overview: words } = given;
const idle = Object.fromEntries(words.idle);
const isJapanese = document.documentElement.lang.startsWith("ja");

/** A sentence with its numbers. @param {string} sentence @param {Record<string, number>} slots */
function tell(sentence, slots) {
  return sentence.replace(COUNTED, (_, slot, /** @type {string | undefined} */ one, many) =>
    number(slots[slot] ?? 0) + (one === undefined ? "" : ` ${slots[slot] === 1 ? one : many}`));
}

const rows = [...document.querySelectorAll(".tile"), byId("store")];
const charts = rows.flatMap((element, index) => {
  const drawn = element.querySelector(".chart");
  return drawn ? [{ index, chart: new Chart(/** @type {HTMLElement} */ (drawn), words, given.lines[index] ?? [], given.hours[index] ?? []) }] : [];
});
const tiles = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".tile")]);

/** @param {HTMLElement} element @param {any} tile */
function showTile(element, { rate, deeds, failures, topics }) {
  const room = element.dataset.room ?? "";
  const sentence = deeds + failures > 0 ? said.sentences[room] : idle[room];
  fill(element, { rate: number(rate), sentence: tell(sentence, { n: deeds, m: topics, f: failures }) });
}

/** @param {any} moment */
function showHouse({ store, queues, facts, readers }) {
  const commit = store.meanMs == null ? "–" : said.most.replace("{mean}", millis(store.meanMs)).replace("{most}", store.mostMs == null ? "∞" : millis(store.mostMs));
  fill(byId("store"), {
    writes: tell(words.writes, { n: store.writes }),
    commit,
    size: bytes(store.bytes),
    backup: store.backupSeconds == null ? said.never : words.ago.replace("{n}", age(store.backupSeconds)),
  });
  const [messages, told] = [(/** @type {number} */ n) => tell(words.messages, { n }), (/** @type {number} */ n) => tell(words.facts, { n })];
  fill(byId("queues"), { depth: messages(queues.depth), oldest: age(queues.oldestSeconds), dead: messages(queues.dead) });
  fill(byId("facts"), { told: told(facts.told), done: told(facts.done), retried: tell(words.tries, { n: facts.retried }), factsDead: messages(facts.dead) });
  byId("readers").textContent = tell(words.connections, { n: readers });
  markDead(byId("queues"), queues.dead);
  markDead(byId("facts"), facts.dead);
}

/** Dead letters have the colour of a problem, in words they are among the problems. @param {HTMLElement} card @param {number} dead */
function markDead(card, dead) {
  card.classList.toggle("ails", dead > 0);
}

/** The problems as they are shown: they are left alone while they stay the same. */
let shownProblems = "";

/** @param {{ id: string, isUrgent: boolean, path: string, en: string, ja: string }[]} problems */
function showProblems(problems) {
  const key = JSON.stringify(problems);
  if (key === shownProblems) return;
  shownProblems = key;
  byId("calm").hidden = problems.length > 0;
  byId("problem-list").replaceChildren(...problems.map((problem) => {
    const item = copy("problem-one");
    const link = /** @type {HTMLAnchorElement} */ (item.querySelector("a"));
    link.href = problem.path;
    link.dataset.problem = problem.id;
    link.classList.toggle("urgent", problem.isUrgent);
    fill(item, { says: isJapanese ? problem.ja : problem.en });
    return item;
  }));
}

/** @param {string[]} open the first steps that are still to be done */
function showSteps(open) {
  const list = byId("steps");
  for (const step of list.querySelectorAll("[data-step]")) step.hidden = !open.includes(step.dataset.step);
  list.hidden = open.length === 0;
  byId("steps-left").textContent = tell(words.left, { n: open.length });
}

/** @param {any} moment */
function hear(moment) {
  if (moment.type === "gap") return;
  const rates = [...moment.tiles.map((/** @type {any} */ tile) => tile.rate), moment.store.writes];
  for (const { index, chart } of charts) chart.hear(moment.at, rates[index], moment.minute?.[index]);
  moment.tiles.forEach((/** @type {any} */ tile, /** @type {number} */ index) => showTile(tiles[index], tile));
  showHouse(moment);
  showProblems(moment.problems);
  showSteps(moment.steps);
  document.body.dataset.at = String(moment.at);
}

/** Whether the page goes to the sign-in page: once, however often a try fails meanwhile. */
let isLeaving = false;

/** @param {boolean} is */
async function connected(is) {
  byId("state").textContent = is ? said.live : said.away;
  byId("state").classList.toggle("beats", is);
  if (is) return;
  // Whoever was signed out is asked to sign in, instead of waiting for ever.
  const answer = await fetch(location.pathname, { method: "HEAD" }).catch(() => null);
  if (answer?.status !== 401 || isLeaving) return;
  isLeaving = true;
  location.reload();
}

byId("spans").addEventListener("change", (/** @type {Event} */ event) => {
  const { value } = /** @type {HTMLInputElement} */ (event.target);
  for (const { chart } of charts) chart.span(value === "hour");
});
given.now.tiles.forEach((/** @type {any} */ tile, /** @type {number} */ index) => showTile(tiles[index], tile));
for (const { chart } of charts) chart.begin(given.now.at);
showHouse(given.now);
follow("/console/stream", "", { hear, connected });
