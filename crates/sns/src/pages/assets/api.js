// @ts-check
// Calls to the house, in the name of who is logged in.

import { given } from "./kit/dom.js";
import { current, renew } from "./session.js";

/** Why a call was refused, in the reader's language. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {string} told
   */
  constructor(status, told) {
    super(told);
    this.status = status;
  }
}

/** 128 random bits. `randomUUID` does not exist on plain HTTP in a local network. */
export function random() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Calls the house. A network that is away is a TypeError, an answer that says no is `Refused`.
 * @param {string} method
 * @param {string} path
 * @param {{ body?: object, key?: string }} [more] `key` makes a repetition harmless
 * @returns {Promise<any>}
 */
export async function call(method, path, { body, key } = {}) {
  const token = current()?.token;
  let answer = await send(method, path, { body, key, token });
  if (answer.status === 401 && token && (await renew(token))) {
    answer = await send(method, path, { body, key, token: current()?.token });
  }
  if (answer.ok) return answer.status === 204 ? undefined : answer.json();
  const { detail } = await answer.json().catch(() => ({}));
  throw new Refused(answer.status, detail ?? answer.statusText);
}

/**
 * @param {string} method
 * @param {string} path
 * @param {{ body?: object, key?: string, token?: string }} more
 */
function send(method, path, { body, key, token }) {
  /** @type {Record<string, string>} */
  const headers = { "accept-language": document.documentElement.lang };
  if (body) headers["content-type"] = "application/json";
  if (key) headers["idempotency-key"] = key;
  if (token) headers["authorization"] = `Bearer ${token}`;
  return fetch(`/sns/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
}

/**
 * What to tell somebody of something that went wrong.
 * @param {unknown} error
 */
export function told(error) {
  if (error instanceof Refused) return error.message;
  if (error instanceof TypeError) return given.said.offline;
  throw error;
}
