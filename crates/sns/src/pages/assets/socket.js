// @ts-check
// What happens, over WebSocket, from a cursor on: whatever happens to the connection, what came
// behind the last push is told next.

import { keep } from "./kit/link.js";
import { current, renew } from "./session.js";

/**
 * Follows what happens to who is logged in.
 * @param {{ hear: (told: any) => void, connected: (is: boolean) => void, over: () => void }} listener
 */
export function follow({ hear, connected, over }) {
  let last = "";
  /** The token with which it was opened. */
  let token = "";

  const link = keep({
    path: () => `/sns/v1/ws${last && `?cursor=${encodeURIComponent(last)}`}`,
    hello: () => {
      token = current()?.token ?? "";
      return { type: "auth", token };
    },
    ping: { type: "ping" },
    take,
    connected,
  });

  /** @param {any} told */
  function take(told) {
    if (told.cursor) last = told.cursor;
    if (told.type === "ready") {
      link.settled();
    } else if (told.type === "goAway") {
      last = told.resumeFrom || last;
      link.socket().close();
    } else if (told.type === "sessionEnded" || told.code === "token_invalid") {
      enter();
    }
    hear(told);
  }

  /** Comes back with the next token, if there is one. */
  async function enter() {
    const dead = link.socket();
    try {
      if (!(await renew(token))) return over();
    } catch {
      // The network is away; the next try is told the same.
    }
    dead.close();
  }
}
