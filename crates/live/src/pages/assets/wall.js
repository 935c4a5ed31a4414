// @ts-check
// The wall. It only listens, so it is nobody's viewer: server-sent events are enough for it.
//
// What it shows is the state that the host has set for all walls of the room (`room.wall`). Keys
// change this wall alone, until the host changes the same thing again.

import { byId, counted, fill, given } from "./kit/dom.js";
import { follow } from "./kit/events.js";
import { END, call, comments } from "./api.js";
import { Flow, LETTERS } from "./flow.js";
import { Log, shownName } from "./log.js";

const { roomId, seq } = given.room;
/** Comments of the list; the host's desk has them all. */
const MOST = 100;
/** Comments that fly again after a reload, and how far apart they enter. */
const [AGAIN, AGAIN_MS] = [4, 1_400];
/** Reactions that fly up at once. */
const BURST_MAX = 24;
const NOTE_MS = 3_000;
/** How long the wall says how many more there are, after the last of them. */
const LEFT_MS = 6_000;
/** Free space around what no comment may cover, in hundredths of the screen's height. */
const MARGIN = 1;
const SETTINGS = "nagaya.live.wall";
/** Whether this wall is hidden, also after a reload in the middle of it. */
const PANIC = "nagaya.live.panic";

const body = document.body;
const query = new URLSearchParams(location.search);
const kept = JSON.parse(localStorage.getItem(SETTINGS) ?? "{}");
/** Letters in hundredths of the screen's height or 0, seconds for a screen, how many lanes. */
const settings = { letters: 0, seconds: 9, density: 1, ...kept };

const log = new Log({ most: MOST });
const flow = new Flow(byId("flow"), { ...settings }, leaveOut);
/** @type {any} what the host has set, as this wall knows it */
let state = { hidden: false, paused: false, join: "auto", area: "full", letters: 0, pins: [] };
/** How the way in is shown: the host's choice, or that of a key. */
let join = state.join;
/** The newest number of the room of which the state is known. */
let obeyed = 0;
let left = 0;
let noteTimer = 0;
let awayTimer = 0;

/** @param {any} told */
function hear(told) {
  const isNew = told.type === "comment" && !log.items.has(told.comment.commentId);
  if (told.type === "hidden" && told.hidden) flow.remove(told.commentId);
  if (log.hear(told)) {
    keepPins(told);
    showJoin();
    showPinned();
    if (isNew) show(told.comment);
    return;
  }
  if (told.type === "reaction") burst(told.counts);
  if (told.type === "gap") refresh();
  if (told.type === "room") obey(told.room);
}

/** @param {any} comment */
function show(comment) {
  if (isList() || body.classList.contains("panic")) return;
  if (body.dataset.join === "full") leaveOut(1);
  else flow.add(comment);
}

/**
 * Shows what the host wants. What the host has not changed since stays as a key has set it.
 * @param {any} room
 */
function obey(room) {
  // An answer to a question may come after what was pushed meanwhile.
  if (room.seq < obeyed) return;
  obeyed = room.seq;
  // A room that is gone shows nothing.
  if (room.status === "DELETED") hide(true);
  const before = state;
  // Fields that an earlier version does not have keep their defaults.
  const known = Object.entries(room.wall ?? {}).filter(([, value]) => value !== "");
  state = { ...before, ...Object.fromEntries(known) };
  const has = (/** @type {string} */ name) => state[name] !== before[name];
  if (has("hidden")) hide(state.hidden);
  if (has("paused")) pause(state.paused);
  if (has("join")) join = state.join;
  if (has("area")) body.dataset.area = state.area;
  if (has("letters")) flow.settings.letters = state.letters || settings.letters;
  if (has("letters") || has("area")) restage();
  showJoin();
  showPinned();
}

/** Begins anew: the letters or the part of the screen have changed. */
function restage() {
  body.style.setProperty("--letters", `${flow.settings.letters || 5}vh`);
  flow.reset();
  flow.reserve(reserved());
}

/** Too much was missed to be told one by one, and what flies may be hidden by now. */
async function refresh() {
  flow.clear();
  const [page, room] = await Promise.all([comments(roomId, { before: END, limit: MOST }), read()]);
  log.replace(page.comments);
  obey(room);
}

const read = async () => (await call("GET", `/${roomId}`)).json();

/** @param {boolean} is */
function connected(is) {
  // Every try that fails tells so again; the time counts from the first.
  if (!is) awayTimer ||= setTimeout(showAway, NOTE_MS);
  if (!is) return;
  clearTimeout(awayTimer);
  awayTimer = 0;
  note(flow.isPaused ? given.said.paused : "");
}

function showAway() {
  awayTimer = 0;
  note(given.said.away, Infinity);
}

const isList = () => body.classList.contains("as-list");

/**
 * The comment that an item of the list shows.
 * @param {HTMLElement} item
 */
function readItem(item) {
  const text = (/** @type {string} */ name) => item.querySelector(`[data-slot=${name}]`)?.textContent ?? "";
  const isHost = item.classList.contains("is-host");
  return { commentId: item.dataset.id ?? "", content: text("content"), nickname: text("nickname"), isHost };
}

/**
 * Pins come with the room; what happens to single comments is told one by one.
 * @param {any} told
 */
function keepPins(told) {
  const id = told.commentId;
  const isGone = (told.type === "hidden" && told.hidden) || told.pinned === false || told.answered === true;
  if (isGone || told.pinned) state.pins = state.pins.filter((/** @type {string} */ pin) => pin !== id);
  if (told.pinned) state.pins = [...state.pins, id];
  // What is shown again, or waits for an answer again, may be pinned still: the room knows.
  const mayBeBack = (told.type === "hidden" && !told.hidden) || told.answered === false;
  if (mayBeBack) read().then(obey, () => {});
}

/** The newest pin stands still for all to read, however long ago its comment was written. */
async function showPinned() {
  const id = state.pins.at(-1);
  // A room of an earlier version has pins in its list alone.
  const listed = id ? log.items.get(id) : log.list.querySelector(".is-pinned:not(.is-answered)");
  const shown = listed ? readItem(/** @type {HTMLElement} */ (listed)) : id && (await find(id));
  if (id !== state.pins.at(-1)) return;
  byId("pinned").hidden = !shown;
  if (shown) fill(byId("pinned"), { content: shown.content, nickname: shownName(shown.nickname) });
}

/** @type {Map<string, Promise<any>>} pinned comments that the list does not have */
const found = new Map();

/**
 * A comment that the list does not have.
 * @param {string} id
 */
function find(id) {
  const known = found.get(id) ?? comments(roomId, { before: next(id), limit: 1 }).then(
    (page) => page.comments.find((/** @type {any} */ one) => one.commentId === id),
    () => void found.delete(id),
  );
  found.clear();
  found.set(id, known);
  return known;
}

/**
 * The id after this one: ids are numbers.
 * @param {string} id
 */
function next(id) {
  const digits = (BigInt(`0x${id.replaceAll("-", "")}`) + 1n).toString(16).padStart(32, "0");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Shows the way in: on the full screen, in the corner, or not. */
function showJoin() {
  const isQuiet = log.items.size > 0 || body.classList.contains("transparent");
  const later = query.get("join") === "1" ? "corner" : "off";
  const mode = join !== "auto" ? join : isQuiet ? later : "full";
  if (body.dataset.join === mode) return;
  body.dataset.join = mode;
  byId("join").hidden = mode === "off";
  if (mode === "full") flow.clear();
}

/** What no comment may cover, from the corner of the part in which they fly. */
function reserved() {
  const margin = (innerHeight * MARGIN) / 100;
  const stage = byId("flow").getBoundingClientRect();
  const shown = ["join", "pinned"].map(byId).filter((element) => element.offsetWidth > 0);
  return shown.map((element) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    return {
      left: left - stage.left - margin,
      top: top - stage.top - margin,
      width: width + 2 * margin,
      height: height + 2 * margin,
    };
  });
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

/** @param {number} count */
function leaveOut(count) {
  left += count;
  note(counted(given.said.leftOut, left), LEFT_MS);
}

/**
 * Says something for a moment, or for as long as it holds.
 * @param {string} text
 * @param {number} [stays]
 */
function note(text, stays = NOTE_MS) {
  clearTimeout(noteTimer);
  byId("note").textContent = text;
  if (stays === Infinity) return;
  noteTimer = setTimeout(() => {
    left = 0;
    byId("note").textContent = flow.isPaused ? given.said.paused : "";
  }, stays);
}

/** @param {boolean} isPaused */
function pause(isPaused) {
  flow.pause(isPaused);
  note(isPaused ? given.said.paused : "", isPaused ? Infinity : undefined);
}

/** @param {boolean} isHidden */
function hide(isHidden) {
  flow.clear();
  body.classList.toggle("panic", isHidden);
  sessionStorage.setItem(PANIC, isHidden ? "1" : "");
}

/**
 * @param {"letters" | "seconds" | "density"} name
 * @param {number} value
 * @param {string} told
 */
function set(name, value, told) {
  settings[name] = value;
  flow.settings[name] = value;
  localStorage.setItem(SETTINGS, JSON.stringify(settings));
  if (name !== "seconds") restage();
  note(told);
}

const clamp = (/** @type {number} */ value, /** @type {number} */ low, /** @type {number} */ high) =>
  Math.min(high, Math.max(low, Math.round(value * 10) / 10));

function resize(/** @type {number} */ by) {
  const letters = clamp((flow.settings.letters || LETTERS.usual) + by, LETTERS.least, LETTERS.most);
  set("letters", letters, `${letters} %`);
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
  pause: () => pause(!flow.isPaused),
  list() {
    flow.clear();
    body.classList.toggle("as-list");
  },
  panic: () => hide(!body.classList.contains("panic")),
  join() {
    join = body.dataset.join === "off" ? "corner" : "off";
    showJoin();
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

function listen() {
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
  const observer = new ResizeObserver(() => {
    flow.fit();
    flow.reserve(reserved());
  });
  for (const id of ["flow", "join", "pinned"]) observer.observe(byId(id));
}

/**
 * The last comments enter one after the other, so that the screen of a wall that begins is not empty,
 * and not a column of what was said before.
 * @param {any[]} last oldest first
 */
function begin([first, ...others]) {
  if (!first) return;
  if (log.items.has(first.commentId)) show(first);
  setTimeout(begin, AGAIN_MS, others);
}

body.classList.toggle("transparent", query.get("transparent") === "1");
body.classList.toggle("as-list", query.get("list") === "1" || matchMedia("(prefers-reduced-motion)").matches);
body.classList.toggle("panic", sessionStorage.getItem(PANIC) === "1");
restage();
obey(given.room);
listen();
begin([...log.items.values()].slice(0, AGAIN).reverse().map(readItem));
follow(`/live/rooms/${roomId}/stream`, seq, { hear, connected });
