// @ts-check
// A room over WebSocket, from a number on: whatever happens to the connection, what came behind the
// last number that was heard is told next.

import { keep } from "./kit/link.js";
import { participant } from "./api.js";

/**
 * Follows a room.
 * @param {string} roomId
 * @param {number} after the last number that is known
 * @param {{ hear: (told: any) => void, connected: (is: boolean) => void }} listener
 * @param {object} [who] what else a join says
 * @returns {(said: object) => void} says something, if there is a connection
 */
export function follow(roomId, after, { hear, connected }, who = {}) {
  let last = after;
  /** @type {ReturnType<typeof keep> | undefined} */
  let link;

  participant().then((participant) => {
    link = keep({
      path: () => "/live/ws",
      hello: () => ({ action: "joinRoom", roomId, v: 1, after: last, participant, ...who }),
      ping: { action: "ping" },
      take,
      connected,
    });
  });

  /** @param {any} told */
  function take(told) {
    if (told.type === "joined") {
      link?.settled();
      if (told.gap) {
        last = told.seq;
        hear({ type: "gap" });
      }
    } else if (told.type === "goAway") {
      last = told.resumeFrom ?? last;
      link?.socket().close();
      return;
    } else if (told.seq && told.type !== "posted") {
      last = Math.max(last, told.seq);
    }
    hear(told);
  }

  return (said) => link?.say(said);
}
