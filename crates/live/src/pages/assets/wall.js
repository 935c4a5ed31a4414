// @ts-check
// The wall. It only listens, so it is nobody's viewer: server-sent events are enough for it.

import { byId, counted, fill, given } from "./kit/dom.js";
import { follow } from "./kit/events.js";
import { END, comments } from "./api.js";
import { Flow } from "./flow.js";
import { Log } from "./log.js";

const { roomId, seq } = given.room;
/** Comments of the list; the host's desk has them all. */
const MOST = 100;
/** Comments that fly again after a reload. */
const AGAIN = 12;
/** Reactions that fly up at once. */
const BURST_MAX = 24;
const NOTE_MS = 3_000;
const SETTINGS = "nagaya.live.wall";

const body = document.body;
const query = new URLSearchParams(location.search);
const kept = JSON.parse(localStorage.getItem(SETTINGS) ?? "{}");
/** Letters in hundredths of the screen's height, seconds for a screen, how many lanes. */
const settings = { size: 5, seconds: 9, density: 1, ...kept };

const log = new Log({ most: MOST, changed: showPinned });
const flow = new Flow(byId("flow"), settings, leaveOut);
let left = 0;
let noteTimer = 0;
let awayTimer = 0;

/** @param {any} told */
function hear(told) {
  if (told.type === "comment" && !log.items.has(told.comment.commentId)) show(told.comment);
  if (told.type === "hidden" && told.hidden) flow.remove(told.commentId);
  if (log.hear(told)) return;
  if (told.type === "reaction") burst(told.counts);
  if (told.type === "gap") refresh();
  // A room that is gone shows nothing.
  if (told.type === "room" && told.room.status === "DELETED") body.classList.add("panic");
}

/** @param {any} comment */
function show(comment) {
  if (!isList()) flow.add(comment);
}

/** Too much was missed to be told one by one, and what flies may be hidden by now. */
async function refresh() {
  flow.clear();
  log.replace((await comments(roomId, { before: END, limit: MOST })).comments);
}

/** @param {boolean} is */
function connected(is) {
  // Every try that fails tells so again; the time counts from the first.
  if (!is) awayTimer ||= setTimeout(showAway, NOTE_MS);
  if (!is) return;
  clearTimeout(awayTimer);
  awayTimer = 0;
  note("");
}

function showAway() {
  awayTimer = 0;
  note(given.said.away, true);
}

const isList = () => body.classList.contains("as-list");

/**
 * The comment that an item of the list shows.
 * @param {HTMLElement} item
 */
function read(item) {
  const text = (/** @type {string} */ name) => item.querySelector(`[data-slot=${name}]`)?.textContent ?? "";
  const isHost = item.classList.contains("is-host");
  return { commentId: item.dataset.id ?? "", content: text("content"), nickname: text("nickname"), isHost };
}

/** The newest pinned comment that waits for an answer stands still for all to read. */
function showPinned() {
  const item = /** @type {HTMLElement?} */ (log.list.querySelector(".is-pinned:not(.is-answered)"));
  byId("pinned").hidden = !item;
  if (item) fill(byId("pinned"), { content: read(item).content, nickname: read(item).nickname });
}

/** @param {Record<string, number>} counts */
function burst(counts) {
  if (isList() || body.classList.contains("panic")) return;
  const place = byId("burst");
  for (const [reaction, count] of Object.entries(counts)) {
    const shown = Math.min(count, BURST_MAX - place.childElementCount);
    for (let index = 0; index < shown; index += 1) {
      const one = document.createElement("span");
      one.textContent = reaction;
      place.append(one);
      const drift = `${(Math.random() - 0.5) * 12}vw`;
      const from = { transform: "translate(0, 0) scale(0.6)", opacity: 1 };
      const to = { transform: `translate(${drift}, -55vh) scale(1.2)`, opacity: 0 };
      const timing = { duration: 1_800 + Math.random() * 900, easing: "ease-out" };
      one.animate([from, to], timing).onfinish = () => one.remove();
    }
  }
}

function leaveOut() {
  left += 1;
  note(counted(given.said.leftOut, left));
}

/**
 * Says something for a moment, or for as long as it holds.
 * @param {string} text
 * @param {boolean} [stays]
 */
function note(text, stays = false) {
  clearTimeout(noteTimer);
  byId("note").textContent = text;
  if (stays) return;
  noteTimer = setTimeout(() => {
    left = 0;
    byId("note").textContent = flow.isPaused ? given.said.paused : "";
  }, NOTE_MS);
}

/**
 * @param {"size" | "seconds" | "density"} name
 * @param {number} value
 * @param {string} told
 */
function set(name, value, told) {
  settings[name] = value;
  localStorage.setItem(SETTINGS, JSON.stringify(settings));
  if (name !== "seconds") flow.reset();
  body.style.setProperty("--letters", `${settings.size}vh`);
  note(told);
}

const clamp = (/** @type {number} */ value, /** @type {number} */ low, /** @type {number} */ high) =>
  Math.min(high, Math.max(low, Math.round(value * 10) / 10));

function resize(/** @type {number} */ by) {
  const size = clamp(settings.size + by, 2, 14);
  set("size", size, `${size} %`);
}

function pace(/** @type {number} */ by) {
  const seconds = clamp(settings.seconds + by, 3, 20);
  set("seconds", seconds, `${seconds} s`);
}

/** @type {Record<string, () => void>} */
const ACTIONS = {
  larger: () => resize(0.5),
  smaller: () => resize(-0.5),
  faster: () => pace(-1),
  slower: () => pace(1),
  density() {
    const density = (settings.density + 1) % given.said.density.length;
    set("density", density, given.said.density[density]);
  },
  pause() {
    flow.toggle();
    note(flow.isPaused ? given.said.paused : "", flow.isPaused);
  },
  list() {
    flow.clear();
    body.classList.toggle("as-list");
  },
  /** A reload in the middle of it must not show anything either. */
  panic() {
    flow.clear();
    const isOn = body.classList.toggle("panic");
    sessionStorage.setItem("nagaya.live.panic", isOn ? "1" : "");
  },
  join() {
    const card = byId("join");
    card.hidden = !card.hidden;
  },
  help() {
    const help = byId("help");
    if (help.open) help.close();
    else help.showModal();
  },
};

/** @type {Record<string, string>} */
const KEYS = {
  "+": "larger", "=": "larger", "-": "smaller", "]": "faster", "[": "slower", d: "density", " ": "pause",
  l: "list", h: "panic", q: "join", "?": "help",
};

addEventListener("keydown", (event) => {
  const action = KEYS[event.key.toLowerCase()];
  const isOther = event.ctrlKey || event.metaKey || event.altKey;
  // Space also presses the button that has the focus.
  const isPress = event.key === " " && byId("bar").contains(event.target);
  if (!action || isOther || isPress || (byId("help").open && action !== "help")) return;
  event.preventDefault();
  ACTIONS[action]();
});
byId("bar").addEventListener("click", (/** @type {any} */ event) => {
  const action = event.target.dataset.act;
  if (action) ACTIONS[action]();
});

let idle = 0;
for (const sign of ["pointermove", "pointerdown"]) {
  addEventListener(sign, () => {
    clearTimeout(idle);
    body.classList.add("awake");
    idle = setTimeout(() => body.classList.remove("awake"), NOTE_MS);
  });
}

body.classList.toggle("transparent", query.get("transparent") === "1");
body.classList.toggle("panic", sessionStorage.getItem("nagaya.live.panic") === "1");
body.classList.toggle("as-list", query.get("list") === "1" || matchMedia("(prefers-reduced-motion)").matches);
byId("join").hidden = query.get("join") !== "1";
body.style.setProperty("--letters", `${settings.size}vh`);

for (const item of [...log.items.values()].slice(0, AGAIN).reverse()) show(read(item));
showPinned();
follow(`/live/rooms/${roomId}/stream`, seq, { hear, connected });
