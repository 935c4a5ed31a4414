// @ts-check
// A room over WebSocket, from a number on: whatever happens to the connection, what came behind the
// last number that was heard is told next.

import { again } from "./kit/again.js";
import { participant } from "./api.js";

/** A link that was silent for so long is dead: the house is asked twice in this time. */
const SILENCE_MS = 40_000;

/**
 * Follows a room.
 * @param {string} roomId
 * @param {number} after the last number that is known
 * @param {{ hear: (told: any) => void, connected: (is: boolean) => void }} listener
 * @param {object} [who] what else a join says
 * @returns {(said: object) => void} says something, if there is a connection
 */
export function follow(roomId, after, { hear, connected }, who = {}) {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  let last = after;
  let tries = 0;
  let heardAt = Date.now();
  /** @type {WebSocket} */
  let socket;

  function open() {
    const mine = new WebSocket(`${scheme}://${location.host}/live/ws`);
    socket = mine;
    heardAt = Date.now();
    mine.onopen = () => {
      say({ action: "joinRoom", roomId, v: 1, after: last, participant, ...who });
    };
    mine.onmessage = ({ data }) => {
      heardAt = Date.now();
      for (const told of [JSON.parse(data)].flat()) take(told);
    };
    mine.onclose = () => {
      if (socket !== mine) return;
      connected(false);
      again(tries++, open);
    };
  }

  /** @param {any} told */
  function take(told) {
    if (told.type === "joined") {
      tries = 0;
      connected(true);
      if (told.gap) {
        last = told.seq;
        hear({ type: "gap" });
      }
    } else if (told.type === "goAway") {
      last = told.resumeFrom ?? last;
      socket.close();
      return;
    } else if (told.seq && told.type !== "posted") {
      last = Math.max(last, told.seq);
    }
    hear(told);
  }

  /** @param {object} said */
  function say(said) {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(said));
  }

  // A closing handshake with a network that is away would take minutes.
  function drop() {
    const dead = socket;
    socket = /** @type {any} */ ({ readyState: WebSocket.CLOSED });
    dead.close();
    connected(false);
    again(tries++, open);
  }

  setInterval(() => {
    if (socket.readyState !== WebSocket.OPEN) return;
    if (Date.now() - heardAt > SILENCE_MS) drop();
    else say({ action: "ping" });
  }, SILENCE_MS / 3);
  addEventListener("offline", () => {
    if (socket.readyState <= WebSocket.OPEN) drop();
  });

  open();
  return say;
}
