// @ts-check
// A client of the score room, for browsers and Node 20, without dependencies.
//
//   const score = new Score({ url: "http://127.0.0.1:8080", gameId: "akari", userId: "hanako" });
//   await score.resume(); // what was finished before the page was loaded again
//   const play = await score.begin();
//   // … play …
//   const stored = await play.submit({ score: 120, timeMs: 9_800, player: "花子" });
//
// Browsers have WebCrypto on https and on localhost only.

/** How long an answer may take before the call is made again. */
const ANSWER_MS = 30_000;
/** How long a player waits for a play to begin. */
const BEGIN_MS = 15_000;
/** How long after its end a play may be submitted: as long as its end token is good. */
const SUBMIT_MS = 300_000;
/** The pause before a call is made again, which doubles each time; and the longest. */
const AGAIN_MS = 500;
const AGAIN_MS_MAX = 15_000;

/** What the house refused, with the word that says why. Without an answer the status is 0. */
export class ScoreError extends Error {
  /** @param {{ status: number, code?: string, detail?: string, retryAfter?: number }} problem */
  constructor({ status, code = "other", detail = code, retryAfter = 0 }) {
    super(detail);
    this.status = status;
    this.code = code;
    /** Seconds after which the house wants to be asked again. */
    this.retryAfter = retryAfter;
  }

  /** Whether the same call may succeed later: no answer, too many at once, a house that restarts. */
  get isPassing() {
    return this.status === 0 || this.status === 429 || this.status >= 500 || this.code === "idempotency_in_flight";
  }
}

/**
 * The signature of a play: HMAC-SHA256 with the text of the end token as key, in base64url.
 * @param {string} tokenEnd
 * @param {{ userId: string, score: number, timeMs: number, period: string }} play
 */
export async function sign(tokenEnd, { userId, score, timeMs, period }) {
  return base64url(await hmac(tokenEnd, `${userId}|${score}|${timeMs}|${period}`));
}

/**
 * HMAC-SHA256 of a text, by WebCrypto.
 * @param {string} key
 * @param {string} text
 */
export async function hmac(key, text) {
  const { subtle } = globalThis.crypto;
  if (!subtle) throw new Error("signing needs https, or a page on localhost");
  const bytes = (/** @type {string} */ words) => new TextEncoder().encode(words);
  const kind = { name: "HMAC", hash: "SHA-256" };
  const imported = await subtle.importKey("raw", bytes(key), kind, false, ["sign"]);
  return new Uint8Array(await subtle.sign("HMAC", imported, bytes(text)));
}

/**
 * Bytes as base64url without padding.
 * @param {Uint8Array} bytes
 */
export function base64url(bytes) {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * Asks until there is an answer that does not pass, each time a little later and never at the same
 * moment as the others: a whole class is refused in one second.
 * @template T
 * @param {() => Promise<T>} ask
 * @param {number} until in milliseconds, by this machine's clock
 * @returns {Promise<T>}
 */
async function insist(ask, until) {
  for (let tries = 0; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ScoreError && error.isPassing)) throw error;
      const pause = Math.min(AGAIN_MS * 2 ** tries, AGAIN_MS_MAX) * (0.5 + Math.random());
      const wait = error.retryAfter * 1_000 * (1 + Math.random() / 2) + pause;
      if (Date.now() + wait > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}

/** Where a browser keeps secrets and finished plays over a reload; elsewhere this program's memory. */
function ownStorage() {
  try {
    const { localStorage } = /** @type {any} */ (globalThis);
    localStorage.getItem("");
    return /** @type {Storage} */ (localStorage);
  } catch {
    return new Memory();
  }
}

/** What is kept as long as this program runs. */
class Memory {
  constructor() {
    /** @type {Map<string, string>} */
    this.items = new Map();
  }

  get length() {
    return this.items.size;
  }

  /** @param {number} index */
  key(index) {
    return [...this.items.keys()][index] ?? null;
  }

  /** @param {string} name */
  getItem(name) {
    return this.items.get(name) ?? null;
  }

  /** @param {string} name @param {string} value */
  setItem(name, value) {
    this.items.set(name, value);
  }

  /** @param {string} name */
  removeItem(name) {
    this.items.delete(name);
  }
}

/**
 * A play that is over and not yet stored. `until` is when its tokens are worth nothing any more.
 * @typedef {{ tokenStart: string, tokenEnd?: string, until: number, idemKey: string, score: number,
 *   timeMs: number, player: string, period: string, meta?: object }} Finished
 */

/** @typedef {Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">} Store */

const random = () => base64url(crypto.getRandomValues(new Uint8Array(30)));

/** A player of one game. */
export class Score {
  /**
   * @param {{ url?: string, gameId: string, userId: string, claims?: boolean, storage?: Store }}
   *   options `url` is the house's. The id is claimed by a secret in `storage`, unless `claims` is
   *   false: then anybody can play under it.
   */
  constructor({ url = "", gameId, userId, claims = true, storage = ownStorage() }) {
    this.url = `${url.replace(/\/$/, "")}/score`;
    this.gameId = gameId;
    this.userId = userId;
    this.claims = claims;
    this.storage = storage;
  }

  /** The secret that proves that the id is this player's: made once, before the house hears of it. */
  get secret() {
    const name = `nagaya.score.secret:${this.url}:${this.userId}`;
    const kept = this.storage.getItem(name) ?? random();
    this.storage.setItem(name, kept);
    return kept;
  }

  /** @returns {Record<string, string>} what a call shows of its player */
  get proof() {
    return this.claims ? { "x-player-secret": this.secret } : {};
  }

  /** Begins a play. */
  async begin() {
    const { gameId, userId } = this;
    const begun = () => {
      const query = new URLSearchParams({ gameId, userId });
      if (this.claims) query.set("claim", "true");
      return this.ask(`/get-start?${query}`, { headers: this.proof });
    };
    const until = Date.now() + BEGIN_MS;
    const started = await insist(begun, until).catch((error) => {
      // The id has plays of a time before ids were claimed: it goes on as it was.
      if (error.code !== "player_taken") throw error;
      this.claims = false;
      return insist(begun, until);
    });
    return new Play(this, started.token_start, Date.now() + started.max_dur_s * 1_000);
  }

  /**
   * Submits what was finished before the page was left or loaded again. Call it when a page opens.
   * @returns {Promise<{ played: Finished, stored?: any, error?: unknown }[]>}
   */
  resume() {
    const names = Array.from({ length: this.storage.length }, (_, index) => this.storage.key(index));
    const own = names.filter((name) => name?.startsWith(this.place));
    const kept = own.map((name) => JSON.parse(this.storage.getItem(String(name)) ?? "null"));
    return Promise.all(
      kept.filter(Boolean).map((/** @type {Finished} */ played) =>
        this.send(played).then(
          (stored) => ({ played, stored }),
          (error) => ({ played, error }),
        ),
      ),
    );
  }

  /** Where finished plays are kept, each under its own name: tabs do not know of each other. */
  get place() {
    return `nagaya.score.play:${this.url}:${this.gameId}:${this.userId}:`;
  }

  /**
   * Ends a play and submits it, as often as it takes until its tokens are too old. It is kept over a
   * reload meanwhile. Sent again it counts once, and gets the same answer.
   * @param {Finished} finished
   */
  async send(finished) {
    const name = this.place + finished.idemKey;
    const keep = () => this.storage.setItem(name, JSON.stringify(finished));
    try {
      keep();
      if (!finished.tokenEnd) {
        finished.tokenEnd = await this.end(finished);
        finished.until = Date.now() + SUBMIT_MS;
        keep();
      }
      const put = await this.request(finished, finished.tokenEnd);
      const stored = await insist(put, finished.until);
      this.storage.removeItem(name);
      return stored;
    } catch (error) {
      const isOver = Date.now() + AGAIN_MS_MAX > finished.until;
      const mayPass = error instanceof ScoreError && error.isPassing && !isOver;
      if (!mayPass) this.storage.removeItem(name);
      throw error;
    }
  }

  /** @param {Finished} finished @returns {Promise<string>} its end token */
  async end({ tokenStart, until, score, timeMs }) {
    const headers = { "x-token-start": tokenStart, "x-score": String(score), "x-time-ms": String(timeMs) };
    const ended = await insist(() => this.ask("/get-end", { headers }), until);
    if (!ended.ok) throw new ScoreError({ status: 403, code: ended.fraud.reason });
    return ended.token_end;
  }

  /**
   * The call that submits a play.
   * @param {Finished} finished
   * @param {string} tokenEnd
   */
  async request({ tokenStart, idemKey, score, timeMs, player, period, meta }, tokenEnd) {
    const { gameId, userId } = this;
    const headers = {
      ...this.proof,
      "content-type": "application/json",
      "x-token-start": tokenStart,
      "x-token-end": tokenEnd,
      "x-sig": await sign(tokenEnd, { userId, score, timeMs, period }),
      "x-score": String(score),
      "x-time-ms": String(timeMs),
      "x-player": encodeURIComponent(player),
      "x-idem-key": idemKey,
    };
    /** @type {RequestInit} */
    const how = { method: "PUT", headers, body: JSON.stringify(meta ? { meta } : {}) };
    const path = `/scores/${gameId}/${period}/${userId}`;
    return () =>
      this.ask(path, how).catch((error) => {
        // Two tabs began at the same moment and the browser kept one cookie. The tokens say enough.
        if (error.code !== "session_mismatch") throw error;
        return this.ask(path, { ...how, credentials: "omit" });
      });
  }

  /**
   * The best of a period.
   * @param {string} [period] `ALL`, or a month such as `2026-11`
   * @param {number} [limit] from 10 to 100
   */
  ranking(period = "ALL", limit = 10) {
    return this.ask(`/ranking/${this.gameId}/${period}?limit=${limit}`);
  }

  /** Where this player stands; nothing if on no board. */
  async rank(period = "ALL") {
    try {
      return await this.ask(`/ranking/${this.gameId}/${period}/rank/${this.userId}`);
    } catch (error) {
      if (error instanceof ScoreError && error.code === "no_such_player") return undefined;
      throw error;
    }
  }

  /**
   * Hears of every change of a board, the whole board first; for browsers.
   * @param {(told: any) => void} hear
   * @param {string} [period]
   * @returns {() => void} ends it
   */
  watch(hear, period = "ALL") {
    const source = new EventSource(`${this.url}/ranking/${this.gameId}/${period}/stream`);
    source.onmessage = ({ data }) => hear(JSON.parse(data));
    return () => source.close();
  }

  /**
   * Asks the house.
   * @param {string} path
   * @param {RequestInit} [how]
   * @returns {Promise<any>}
   */
  async ask(path, how) {
    let answer;
    let told;
    try {
      // A ranking may be kept by caches in front of the house; a browser's own would show it late.
      const signal = AbortSignal.timeout(ANSWER_MS);
      answer = await fetch(this.url + path, { cache: "no-cache", signal, ...how });
      // An answer that breaks off is none; a refusal may come from a proxy, in other words.
      told = answer.ok ? await answer.json() : await answer.json().catch(() => ({}));
    } catch (error) {
      throw new ScoreError({ status: 0, code: "unreachable", detail: String(error) });
    }
    if (answer.ok) return told;
    const retryAfter = Number(answer.headers.get("retry-after")) || 0;
    throw new ScoreError({ ...told, retryAfter, status: answer.status });
  }
}

/** A play that has begun. */
class Play {
  /**
   * @param {Score} client
   * @param {string} tokenStart
   * @param {number} until when the token is worth nothing any more
   */
  constructor(client, tokenStart, until) {
    this.client = client;
    this.tokenStart = tokenStart;
    this.until = until;
  }

  /**
   * Ends the play and submits it. Answers what is stored now; `updated` says whether it is this play.
   * With the reason `below-threshold` nothing is, and `rank` is where the play would stand. While the
   * house does not answer or is busy, it is sent again until its tokens are too old; what is left
   * when the page closes is sent by `resume`.
   * @param {{ score: number, timeMs: number, player: string, period?: string, meta?: object }} played
   */
  submit({ score, timeMs, player, period = "ALL", meta }) {
    const { client, tokenStart, until } = this;
    return client.send({ tokenStart, until, idemKey: random(), score, timeMs, player, period, meta });
  }
}
