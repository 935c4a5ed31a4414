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
    let wasOpen = false;
    source.onopen = () => {
      wasOpen = true;
      tries = 0;
      connected(true);
    };
    source.onmessage = ({ data, lastEventId }) => {
      if (lastEventId) last = lastEventId;
      for (const told of [JSON.parse(data)].flat()) hear(told);
    };
    source.addEventListener("gap", () => hear({ type: "gap" }));
    source.onerror = () => {
      // The browser comes back seconds after the network, and all browsers come at once. It is
      // left to do so while it alone knows the number with which the stream began.
      const isBrowsers = wasOpen && !last && source.readyState !== EventSource.CLOSED;
      if (isBrowsers) connected(false);
      else leave();
    };
  }

  // On "offline" too: a stream that the network has left would be silent for minutes.
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
