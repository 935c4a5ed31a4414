// @ts-check
// Starting a room, and the rooms that this browser has started.

import { byId, copy, fill, given } from "./kit/dom.js";
import { showTime } from "./kit/times.js";
import { Refused, call, hostId } from "./api.js";

/** @param {string} [cursor] */
async function list(cursor = "") {
  const answer = await call("GET", `?cursor=${encodeURIComponent(cursor)}`, { asHost: true });
  const { rooms, next } = await answer.json();
  for (const room of rooms) byId("rooms").append(entry(room));
  const more = byId("more");
  more.hidden = !next;
  more.onclick = () => list(next);
}

/** @param {any} room */
function entry(room) {
  const item = copy("room");
  const status = room.status === "OPEN" ? given.said.open : given.said.closed;
  fill(item, { name: room.name, code: room.code, status });
  const [link, time] = /** @type {any} */ (item.querySelectorAll("a, time"));
  link.href = `/live/host/${room.roomId}`;
  showTime(time, room.createdAt);
  return item;
}

/** @param {SubmitEvent} event */
async function start(event) {
  event.preventDefault();
  const form = /** @type {any} */ (event.target);
  // A room without a name has that of the example: one click is enough.
  const field = form.elements.namedItem("name");
  const name = field.value.trim() || field.placeholder;
  try {
    const answer = await call("POST", "", { body: { name, hostId: hostId() } });
    const { roomId } = await answer.json();
    location.assign(`/live/host/${roomId}`);
  } catch (error) {
    byId("problem").textContent = error instanceof Refused ? error.message : given.problems.other;
  }
}

// The page for a code that nobody knows has no such form.
document.getElementById("start")?.addEventListener("submit", start);
if (document.getElementById("rooms") && localStorage.getItem("nagaya.live.host")) list();
