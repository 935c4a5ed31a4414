// @ts-check
// A client of the score room, for browsers and Node 20, without dependencies.
//
//   const score = new Score({ url: "http://127.0.0.1:8080", gameId: "akari", userId: "hanako" });
//   const play = await score.begin();
//   // … play …
//   const stored = await play.submit({ score: 120, timeMs: 9_800, player: "花子" });
//
// Browsers have WebCrypto on https and on localhost only.

/**
 * How often a submission that got no answer is sent again, with the same key: it counts once. Also
 * when the house says that the one before still runs.
 */
const TRIES = 3;
const RUNNING = "idempotency_in_flight";
const AGAIN_MS = 1_000;

/** What the house refused, with the word that says why. */
export class ScoreError extends Error {
  /** @param {{ status: number, code?: string, detail?: string }} problem */
  constructor({ status, code = "other", detail = code }) {
    super(detail);
    this.status = status;
    this.code = code;
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

/** A player of one game. */
export class Score {
  /** @param {{ url?: string, gameId: string, userId: string }} options `url` is the house's */
  constructor({ url = "", gameId, userId }) {
    this.url = `${url.replace(/\/$/, "")}/score`;
    this.gameId = gameId;
    this.userId = userId;
  }

  /** Begins a play. */
  async begin() {
    const { gameId, userId } = this;
    const started = await this.ask(`/get-start?${new URLSearchParams({ gameId, userId })}`);
    return new Play(this, started.token_start);
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
    // A ranking may be kept by caches in front of the house; a browser's own would show it late.
    const answer = await fetch(this.url + path, { cache: "no-cache", ...how });
    const told = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new ScoreError({ ...told, status: answer.status });
    return told;
  }
}

/** A play that has begun. */
class Play {
  /**
   * @param {Score} client
   * @param {string} tokenStart
   */
  constructor(client, tokenStart) {
    this.client = client;
    this.tokenStart = tokenStart;
  }

  /**
   * Ends the play and submits it. Answers what is stored now; `updated` says whether it is this play.
   * With the reason `below-threshold` nothing is, and `rank` is where the play would stand.
   * @param {{ score: number, timeMs: number, player: string, period?: string, meta?: object }} played
   */
  async submit({ score, timeMs, player, period = "ALL", meta }) {
    const { client, tokenStart } = this;
    const { gameId, userId } = client;
    const claim = { "x-score": String(score), "x-time-ms": String(timeMs) };
    const ended = await client.ask("/get-end", { headers: { ...claim, "x-token-start": tokenStart } });
    if (!ended.ok) throw new ScoreError({ status: 403, code: ended.fraud.reason });
    const headers = {
      ...claim,
      "content-type": "application/json",
      "x-token-start": tokenStart,
      "x-token-end": ended.token_end,
      "x-sig": await sign(ended.token_end, { userId, score, timeMs, period }),
      "x-player": encodeURIComponent(player),
      "x-idem-key": base64url(crypto.getRandomValues(new Uint8Array(16))),
    };
    const path = `/scores/${gameId}/${period}/${userId}`;
    const how = { method: "PUT", headers, body: JSON.stringify(meta ? { meta } : {}) };
    for (let tries = 1; ; tries += 1) {
      try {
        return await client.ask(path, how);
      } catch (error) {
        const isRefused = error instanceof ScoreError && error.code !== RUNNING;
        if (isRefused || tries === TRIES) throw error;
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS * tries));
      }
    }
  }
}
