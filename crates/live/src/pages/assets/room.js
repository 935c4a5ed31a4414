// @ts-check
// The page of a participant.

import { byId, counted, given } from "./kit/dom.js";
import { END, Refused, call, comments } from "./api.js";
import { compose, showConnected, showRoom } from "./compose.js";
import { Log } from "./log.js";
import { follow } from "./socket.js";

const { roomId, seq } = given.room;
const PAGE = 100;
const log = new Log();

/** @param {any} told */
function hear(told) {
  if (log.hear(told)) return;
  switch (told.type) {
    case "joined":
      show(told.room);
      showViewers(told.viewers);
      break;
    case "room":
      show(told.room);
      break;
    case "viewers":
      showViewers(told.viewers);
      break;
    case "gap":
      refresh();
      break;
  }
}

/** @param {any} room */
function show(room) {
  showRoom(room);
  byId("reactions").hidden = !room.reactions || room.status !== "OPEN";
}

/** @param {number} viewers */
function showViewers(viewers) {
  byId("viewers").textContent = counted(given.said.here, viewers);
}

/** Too much was missed to be told one by one. */
async function refresh() {
  log.replace((await comments(roomId, { before: END, limit: PAGE })).comments);
}

/** @param {Event} event */
async function like(event) {
  const button = /** @type {HTMLElement} */ (event.target).closest("[data-act=like]");
  if (!button) return;
  const id = /** @type {HTMLElement} */ (button.closest(".comment")).dataset.id;
  button.setAttribute("aria-pressed", "true");
  try {
    await call("POST", `/${roomId}/comments/${id}/like`);
  } catch (error) {
    // Who has liked it before is right already.
    const isLiked = error instanceof Refused && error.code === "already_liked";
    if (!isLiked) button.setAttribute("aria-pressed", "false");
  }
}

/** @param {Event} event */
async function showOlder(event) {
  event.preventDefault();
  const link = /** @type {HTMLAnchorElement} */ (event.currentTarget);
  const before = new URL(link.href).searchParams.get("before") ?? "";
  const page = await comments(roomId, { before, limit: PAGE });
  log.most += PAGE;
  for (const comment of page.comments) log.put(comment);
  if (page.next) link.href = `?before=${page.next}`;
  else link.remove();
}

compose();
const say = follow(roomId, seq, { hear, connected: showConnected });
log.list.addEventListener("click", like);
document.getElementById("older")?.addEventListener("click", showOlder);
byId("reactions").addEventListener("click", (/** @type {any} */ event) => {
  const { reaction } = event.target.dataset;
  if (!reaction) return;
  say({ action: "react", reaction });
  event.target.animate?.({ scale: [1.35, 1] }, { duration: 200 });
});
