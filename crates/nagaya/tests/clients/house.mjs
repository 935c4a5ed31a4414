// What every script has in common: the packages, the house, and ways to wait.
//
// The test starts a script with NAGAYA_URL, NAGAYA_KEY and NAGAYA_PACKAGES, listens on its standard
// output, and answers on its standard input.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { webcrypto } from "node:crypto";

export const url = `${process.env.NAGAYA_URL}/mesh/graphql`;
export const key = process.env.NAGAYA_KEY;

/** A package from the folder of this client. */
export const load = createRequire(`${process.env.NAGAYA_PACKAGES}/package.json`);

/**
 * Clients wait some seconds before they come back to a house that was away. How long is theirs to
 * choose and not what is tested: these seconds pass twenty times as fast. Longer waits are bounds.
 * To be called before the client is loaded.
 */
export function hurry() {
  const [min, max, faster] = [1_000, 10_000, 20];
  for (const name of ["setTimeout", "setInterval"]) {
    const begin = globalThis[name];
    const hurried = (call, ms, ...rest) => begin(call, ms >= min && ms <= max ? ms / faster : ms, ...rest);
    globalThis[name] = Object.defineProperties(hurried, Object.getOwnPropertyDescriptors(begin));
  }
}

// Browsers have these, and so have newer versions of Node.
globalThis.crypto ??= webcrypto;

/** Longer than any wait of a client, so that a silence ends with a name. */
const PATIENCE_MS = 60_000;

/** Waits for a promise; says what was waited for if it does not come. */
export async function patiently(what, promise) {
  let timer;
  const silence = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited in vain for ${what}`)), PATIENCE_MS);
  });
  return Promise.race([promise, silence]).finally(() => clearTimeout(timer));
}

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/**
 * Lets the test end the house and open it again, on the same data and the same port: `close` ends it
 * in order, `kill` without a word to anybody.
 */
export async function reopenHouse(end) {
  console.log(end);
  const { value } = await patiently("the house to open again", answers.next());
  if (value !== "open") throw new Error(`the test said ${value}`);
}

/** Things that come one by one. */
export class Heard {
  #all = [];
  #wake = () => {};

  constructor(what) {
    this.what = what;
  }

  add(thing) {
    this.#all.push(thing);
    this.#wake();
  }

  /** The next `count`, as soon as there are so many. */
  async take(count) {
    const enough = async () => {
      while (this.#all.length < count) {
        await new Promise((resolve) => (this.#wake = resolve));
      }
    };
    await patiently(`${count} of ${this.what}`, enough());
    return this.#all.splice(0, count);
  }

  /** What came and was not taken. */
  get rest() {
    return this.#all;
  }
}

/** One for every subscription that the house has acknowledged. */
export const acknowledged = new Heard("start_ack");

/** A WebSocket as browsers have it, which also notes every `start_ack`. */
export class WatchedWebSocket extends load("ws").WebSocket {
  constructor(...all) {
    super(...all);
    this.addEventListener("message", ({ data }) => {
      if (JSON.parse(data).type === "start_ack") acknowledged.add(data);
    });
  }
}

/** Plays, and ends the process: clients keep timers that would hold it. */
export async function play(work) {
  process.on("unhandledRejection", fail);
  try {
    await work();
    process.exit(0);
  } catch (error) {
    fail(error);
  }
}

function fail(error) {
  console.error(error);
  process.exit(1);
}
