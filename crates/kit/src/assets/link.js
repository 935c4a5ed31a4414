// @ts-check
// A WebSocket that is kept: opened again when it breaks, asked when it is silent, dropped when it
// says nothing or the network is away.

import { again } from "./again.js";

/** A link that was silent for so long is dead: the house is asked twice in this time. */
const SILENCE_MS = 40_000;

/**
 * Opens a link and keeps it for as long as the page is there.
 * @param {{
 *   path: () => string,
 *   hello: () => object,
 *   ping: object,
 *   take: (told: any) => void,
 *   connected: (is: boolean) => void,
 * }} habits where it goes, what is said first and when it is silent, who hears
 */
export function keep({ path, hello, ping, take, connected }) {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  let tries = 0;
  let heardAt = Date.now();
  /** @type {WebSocket} */
  let socket;

  function open() {
    const mine = new WebSocket(`${scheme}://${location.host}${path()}`);
    socket = mine;
    heardAt = Date.now();
    mine.onopen = () => say(hello());
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

  /** @param {object} said */
  function say(said) {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(said));
  }

  /** The house has let us in. */
  function settled() {
    tries = 0;
    connected(true);
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
    else say(ping);
  }, SILENCE_MS / 3);
  addEventListener("offline", () => {
    if (socket.readyState <= WebSocket.OPEN) drop();
  });

  open();
  return { say, settled, socket: () => socket };
}
