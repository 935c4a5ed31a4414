// @ts-check
// Calls to the house, and who this browser is in them.

import { counted, given } from "./kit/dom.js";

/** The newest comments are those before this. */
export const END = Number.MAX_SAFE_INTEGER;

/**
 * What this browser remembers under a name; made if it is not there.
 * @param {string} name
 * @param {() => string} make
 */
export function remembered(name, make) {
  const kept = localStorage.getItem(name) ?? make();
  localStorage.setItem(name, kept);
  return kept;
}

/** 128 random bits. `randomUUID` does not exist on plain HTTP in a local network. */
export function random() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Where this browser keeps the participant that the server has signed. */
const SIGNED = "nagaya.live.signed";
/** A server that takes longer must not keep the page from its room. */
const ASK_MS = 5_000;

/** @type {Promise<string> | undefined} */
let asked;

/**
 * What tells this browser apart from others behind the same address: a participant that the server
 * has signed. When none can be had, a name that the browser makes up does, with less allowance.
 */
export const participant = () => (asked ??= ask());

async function ask() {
  const kept = JSON.parse(localStorage.getItem(SIGNED) ?? "null");
  if (kept && Date.now() < kept.renewAt) return kept.participant;
  /** @type {Record<string, string>} */
  const headers = kept ? { "x-participant": kept.participant } : {};
  try {
    const signal = AbortSignal.timeout(ASK_MS);
    const answer = await fetch("/live/participants", { method: "POST", headers, signal });
    if (answer.ok) return keep(await answer.json());
  } catch {
    // Without a network there is nothing to take part in yet.
  }
  return kept?.participant ?? remembered("nagaya.live.participant", random);
}

/**
 * Keeps a participant until half of its life is over.
 * @param {{ participant: string, expiresAt: string }} issued
 */
function keep({ participant, expiresAt }) {
  const renewAt = (Date.now() + Date.parse(expiresAt)) / 2;
  localStorage.setItem(SIGNED, JSON.stringify({ participant, renewAt }));
  return participant;
}

/** This browser's credential as a host. It leaves in headers and messages, never in an address. */
export const hostId = () => remembered("nagaya.live.host", random);

/** Why a call was refused. */
export class Refused extends Error {
  /**
   * @param {string} code
   * @param {number} wait seconds until another try may help
   */
  constructor(code, wait) {
    const told = given.problems[code] ?? given.problems.other;
    super(wait > 0 ? told + counted(given.said.wait, wait) : told);
    this.code = code;
  }
}

/**
 * Calls the house. A network that is away is a TypeError, an answer that says no is `Refused`.
 * @param {string} method
 * @param {string} path
 * @param {{ body?: object, asHost?: boolean }} [more]
 */
export async function call(method, path, { body, asHost } = {}) {
  /** @type {Record<string, string>} */
  const headers = {};
  // Reading has no allowance.
  if (method !== "GET") headers["x-participant"] = await participant();
  if (asHost) headers["authorization"] = `Bearer ${hostId()}`;
  const text = body && JSON.stringify(body);
  const answer = await fetch(`/live/rooms${path}`, { method, headers, body: text });
  if (answer.ok) return answer;
  const { code } = await answer.json().catch(() => ({ code: "other" }));
  throw new Refused(code, Number(answer.headers.get("retry-after")));
}

/**
 * A page of comments before a place, oldest first, and where to go on.
 * @param {string} roomId
 * @param {{ before: string | number, limit: number, asHost?: boolean }} page
 */
export async function comments(roomId, { before, limit, asHost }) {
  const path = `/${roomId}/comments?before=${before}&limit=${limit}`;
  return (await call("GET", path, { asHost })).json();
}
