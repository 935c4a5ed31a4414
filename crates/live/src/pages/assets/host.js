// @ts-check
// The host's desk. Everything goes with the credential that this browser keeps; without the right
// one the desk stays empty.

import { byId, fill, given } from "./kit/dom.js";
import { END, Refused, call, comments, hostId } from "./api.js";
import { compose, showConnected, showRoom } from "./compose.js";
import { Log } from "./log.js";
import { follow } from "./socket.js";

const { roomId } = given.room;
const PAGE = 200;
/** Comments that the desk holds; older ones are in the export. */
const MOST = 5_000;
/** How long an export is kept for the browser to save it. */
const SAVED_MS = 60_000;

/**
 * What a button does with a comment: the call, and what goes with it.
 * @type {Record<string, [string, object?]>}
 */
const ACTIONS = {
  hide: ["hide"],
  restore: ["restore"],
  pin: ["pin", { pinned: true }],
  unpin: ["pin", { pinned: false }],
  answer: ["answer", { answered: true }],
  unanswer: ["answer", { answered: false }],
};

/**
 * What a setting's field means to the room.
 * @type {Record<string, (field: any) => object>}
 */
const SETTINGS = {
  paused: ({ checked }) => ({ paused: checked }),
  pre: ({ checked }) => ({ moderation: checked ? "pre" : "off" }),
  reactions: ({ checked }) => ({ reactions: checked }),
  slow: ({ value }) => ({ slowModeSeconds: Number(value) }),
};

/**
 * What a field means to the walls of the room.
 * @type {Record<string, (field: any) => object>}
 */
const WALLS = {
  hidden: ({ checked }) => ({ hidden: checked }),
  paused: ({ checked }) => ({ paused: checked }),
  join: ({ value }) => ({ join: value }),
  area: ({ value }) => ({ area: value }),
  letters: ({ value }) => ({ letters: Number(value) }),
};

const log = new Log({ most: MOST, keepsHidden: true, changed: sift });
/** @type {Map<string, string>} authors by comment, to be blocked by */
const authors = new Map();
/** @type {string[]} */
let blockedUsers = [];
/** @type {string[]} blocked words as the field showed them: what differs from them is changed */
let shownWords = [];

/** @param {any} told */
function hear(told) {
  if (told.comment) authors.set(told.comment.commentId, told.comment.author);
  if (log.hear(told)) return;
  switch (told.type) {
    case "joined":
      show(told.room);
      fill(document.body, { viewers: told.viewers });
      break;
    case "room":
      show(told.room);
      // Another desk may have changed what is blocked, which is told to nobody. If it cannot be read
      // now, the next change is another chance; what this desk adds and removes is right anyway.
      read().then(showBlocked, () => {});
      break;
    case "viewers":
      fill(document.body, { viewers: told.viewers });
      break;
    case "gap":
      load();
      break;
  }
}

/** @param {any} room */
function show(room) {
  showRoom(room);
  const form = byId("settings").elements;
  form.paused.checked = room.paused;
  form.pre.checked = room.moderation === "pre";
  form.reactions.checked = room.reactions;
  form.slow.value = room.slowModeSeconds;
  showWalls(room.wall);
  byId("close").hidden = room.status !== "OPEN";
  byId("reopen").hidden = room.status !== "CLOSED";
  byId("desk").hidden = room.status === "DELETED";
}

/** @param {any} wall */
function showWalls(wall) {
  const form = byId("walls").elements;
  for (const name of ["hidden", "paused"]) form[name].checked = wall[name];
  for (const name of ["join", "area", "letters"]) form[name].value = String(wall[name]);
  // Letters that another program has chosen have no place in the list.
  if (form.letters.value === "") form.letters.value = "0";
}

/** Reads the whole log, newest first, as far as the desk holds it. */
async function load() {
  log.replace([]);
  let before = String(END);
  while (before && log.items.size < MOST) {
    const page = await comments(roomId, { before, limit: PAGE, asHost: true });
    for (const comment of page.comments.reverse()) hear({ type: "comment", comment });
    before = page.next;
  }
}

/**
 * Shows a comment if it is looked for, and counts.
 * @param {HTMLElement} item
 */
function sift(item) {
  const words = byId("search").value.trim().toLocaleLowerCase();
  const kind = byId("filter").value;
  const has = (/** @type {string} */ mark) => item.classList.contains(mark);
  const isKind = kind === "unanswered" ? !has("is-answered") && !has("is-hidden") : !kind || has(kind);
  const text = `${item.querySelector(".who bdi")?.textContent} ${item.querySelector(".said")?.textContent}`;
  item.hidden = !isKind || !text.toLocaleLowerCase().includes(words);
  count();
}

let isCounting = false;

/** Counts once for all that changes in a frame. */
function count() {
  if (isCounting) return;
  isCounting = true;
  requestAnimationFrame(() => {
    isCounting = false;
    const waiting = log.list.querySelectorAll(".is-waiting").length;
    fill(document.body, { total: log.items.size, waiting });
  });
}

/**
 * Does something as the host, and says what it answers in words, or that it was refused.
 * @param {() => Promise<any>} work
 */
async function attempt(work) {
  const told = byId("told");
  try {
    const answer = await work();
    told.textContent = typeof answer === "string" ? answer : "";
  } catch (error) {
    told.textContent = error instanceof Refused ? error.message : given.problems.other;
  }
}

/** The room as its host sees it. */
const read = async () => (await call("GET", `/${roomId}`, { asHost: true })).json();

/** @param {object} body */
const change = async (body) => (await call("PATCH", `/${roomId}`, { body, asHost: true })).json();

/** The words of the field. */
function typedWords() {
  const lines = byId("settings").elements.words.value.split("\n");
  return lines.map((/** @type {string} */ word) => word.trim()).filter(Boolean);
}

/**
 * Shows what is blocked. Words that are being typed stay.
 * @param {any} room
 */
function showBlocked(room) {
  blockedUsers = room.blockedUsers;
  fill(document.body, { blocked: blockedUsers.length });
  byId("unblock").disabled = blockedUsers.length === 0;
  if (typedWords().join("\n") !== shownWords.join("\n")) return;
  shownWords = room.blockedWords;
  byId("settings").elements.words.value = shownWords.join("\n");
}

/** Blocks the words that were added to the field, and no more those that were taken out of it. */
async function saveWords() {
  const typed = typedWords();
  const blockWords = typed.filter((/** @type {string} */ word) => !shownWords.includes(word));
  const unblockWords = shownWords.filter((word) => !typed.includes(word));
  const room = await change({ blockWords, unblockWords });
  shownWords = typed;
  showBlocked(room);
  return given.said.saved;
}

/** @param {any} event */
function act(event) {
  const name = event.target.closest("[data-act]")?.dataset.act;
  const id = event.target.closest(".comment")?.dataset.id;
  if (!name || !id) return;
  attempt(async () => {
    if (name === "block") {
      showBlocked(await change({ blockUsers: [authors.get(id) ?? ""] }));
    }
    const [verb, body] = name === "block" ? ACTIONS.hide : ACTIONS[name];
    await call("POST", `/${roomId}/comments/${id}/${verb}`, { body, asHost: true });
  });
}

/** @param {string} format */
async function save(format) {
  const answer = await call("GET", `/${roomId}/export.${format}`, { asHost: true });
  const file = document.createElement("a");
  file.href = URL.createObjectURL(await answer.blob());
  file.download = `${given.room.code}.${format}`;
  file.click();
  // The browser takes it when it likes.
  setTimeout(() => URL.revokeObjectURL(file.href), SAVED_MS);
}

function listen() {
  // On a phone the log is what counts.
  const isNarrow = matchMedia("(width < 62rem)").matches;
  for (const card of document.querySelectorAll("details")) card.open = !isNarrow;
  const settings = byId("settings");
  log.list.addEventListener("click", act);
  for (const id of ["search", "filter"]) {
    byId(id).addEventListener("input", () => log.items.forEach(sift));
  }
  settings.addEventListener("change", (/** @type {any} */ { target }) => {
    const setting = SETTINGS[target.name];
    if (setting) attempt(() => change(setting(target)));
  });
  byId("walls").addEventListener("change", (/** @type {any} */ { target }) => {
    attempt(() => change({ wall: WALLS[target.name](target) }));
  });
  byId("walls").addEventListener("submit", (/** @type {Event} */ event) => event.preventDefault());
  settings.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    attempt(saveWords);
  });
  byId("unblock").onclick = () =>
    attempt(async () => showBlocked(await change({ unblockUsers: blockedUsers })));
  byId("copy").hidden = !navigator.clipboard;
  byId("copy").onclick = () =>
    attempt(() => navigator.clipboard.writeText(byId("copy").dataset.link).then(() => given.said.copied));
  for (const button of document.querySelectorAll("[data-export]")) {
    const format = /** @type {HTMLElement} */ (button).dataset.export ?? "";
    button.addEventListener("click", () => attempt(() => save(format)));
  }
  byId("close").onclick = () => {
    if (confirm(given.said.confirmClose)) attempt(() => change({ status: "CLOSED" }));
  };
  byId("reopen").onclick = () => attempt(() => change({ status: "OPEN" }));
  byId("delete").onclick = () => {
    if (!confirm(given.said.confirmDelete)) return;
    attempt(() => call("DELETE", `/${roomId}`, { asHost: true }).then(() => location.assign("/live")));
  };
}

async function open() {
  const room = await read();
  // Only its host is told what a room blocks.
  if (!room.blockedWords) {
    byId("stranger").hidden = false;
    return;
  }
  showBlocked(room);
  byId("desk").hidden = false;
  show(room);
  listen();
  compose({ asHost: true });
  follow(roomId, room.seq, { hear, connected: showConnected }, { hostId: hostId() });
  await load();
}

open();
