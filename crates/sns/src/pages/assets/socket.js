// @ts-check
// What happens, over WebSocket, from a cursor on: whatever happens to the connection, what came
// behind the last push is told next.

import { again } from "./kit/again.js";
import { current, renew } from "./session.js";

/** A link that was silent for so long is dead: the house is asked twice in this time. */
const SILENCE_MS = 40_000;

/**
 * Follows what happens to who is logged in.
 * @param {{ hear: (told: any) => void, connected: (is: boolean) => void, over: () => void }} listener
 */
export function follow({ hear, connected, over }) {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  let last = "";
  let tries = 0;
  let heardAt = Date.now();
  /** @type {WebSocket} */
  let socket;
  /** The token with which it was opened. */
  let token = "";

  function open() {
    const from = last && `?cursor=${encodeURIComponent(last)}`;
    const mine = new WebSocket(`${scheme}://${location.host}/sns/v1/ws${from}`);
    socket = mine;
    heardAt = Date.now();
    mine.onopen = () => {
      token = current()?.token ?? "";
      say({ type: "auth", token });
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
    if (told.cursor) last = told.cursor;
    if (told.type === "ready") {
      tries = 0;
      connected(true);
    } else if (told.type === "goAway") {
      last = told.resumeFrom || last;
      socket.close();
    } else if (told.type === "sessionEnded" || told.code === "token_invalid") {
      enter();
    }
    hear(told);
  }

  /** Comes back with the next token, if there is one. */
  async function enter() {
    const dead = socket;
    try {
      if (!(await renew(token))) return over();
    } catch {
      // The network is away; the next try is told the same.
    }
    dead.close();
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
    else say({ type: "ping" });
  }, SILENCE_MS / 3);
  addEventListener("offline", () => {
    if (socket.readyState <= WebSocket.OPEN) drop();
  });

  open();
}
