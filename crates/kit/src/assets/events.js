// @ts-check
// Server-sent events, from a number on: whatever happens to the connection, what came behind the
// last number is told next.

import { again } from "./again.js";

/**
 * Follows a stream whose events are JSON, one or a list.
 * @param {string} address
 * @param {number | string} after the last number that is known; empty for the beginning
 * @param {{ hear: (told: any) => void, connected: (is: boolean) => void }} listener
 * @returns {() => void} ends it
 */
export function follow(address, after, { hear, connected }) {
  let last = String(after);
  let tries = 0;
  /** @type {EventSource} */
  let source;
  let rest = () => {};

  function open() {
    const joint = address.includes("?") ? "&" : "?";
    source = new EventSource(last ? `${address}${joint}after=${encodeURIComponent(last)}` : address);
    source.onopen = () => {
      tries = 0;
      connected(true);
    };
    source.onmessage = ({ data, lastEventId }) => {
      if (lastEventId) last = lastEventId;
      for (const told of [JSON.parse(data)].flat()) hear(told);
    };
    source.addEventListener("gap", () => hear({ type: "gap" }));
    source.onerror = () => {
      connected(false);
      // The browser comes back by itself, unless the answer was no stream.
      if (source.readyState === EventSource.CLOSED) rest = again(tries++, open);
    };
  }

  // A stream that the network has left would be silent for minutes.
  function leave() {
    source.close();
    connected(false);
    rest();
    rest = again(tries++, open);
  }

  addEventListener("offline", leave);
  open();
  return () => {
    removeEventListener("offline", leave);
    rest();
    source.close();
  };
}
