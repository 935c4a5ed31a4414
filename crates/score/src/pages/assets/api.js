// @ts-check
// Calls to the house.

/** Why a call was refused. */
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

/**
 * Calls the house. A network that is away is a TypeError, an answer that says no is `Refused`.
 * @param {string} method
 * @param {string} path
 * @param {{ body?: object, key?: string }} [more]
 * @returns {Promise<any>}
 */
export async function call(method, path, { body, key } = {}) {
  /** @type {Record<string, string>} */
  const headers = {};
  if (body) headers["content-type"] = "application/json";
  if (key) headers["x-api-key"] = key;
  const text = body && JSON.stringify(body);
  const answer = await fetch(`/score${path}`, { method, headers, body: text });
  if (answer.ok) return answer.json();
  const { detail } = await answer.json().catch(() => ({}));
  throw new Refused(answer.status, detail ?? answer.statusText);
}
