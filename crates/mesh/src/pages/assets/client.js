// @ts-check
// Calls of the mesh, as every client makes them: with the key.

/** The server refused a call. */
export class Refused extends Error {
  /** @param {string} type the contract's word @param {string} message */
  constructor(type, message) {
    super(message);
    this.type = type;
  }
}

/**
 * Calls the mesh, and answers the value of the document's only field.
 * @param {string} key
 * @param {string} query
 * @param {Record<string, unknown>} [variables]
 * @returns {Promise<any>}
 */
export async function call(key, query, variables = {}) {
  const headers = { "content-type": "application/json", "x-api-key": key };
  const answer = await fetch("/mesh/graphql", { method: "POST", headers, body: JSON.stringify({ query, variables }) });
  const { data, errors } = await answer.json();
  const [error] = errors ?? [];
  if (error) throw new Refused(error.errorType, error.message);
  return Object.values(data)[0];
}
