// What clients made of Apollo have in common.

/** A copy without the `__typename` that Apollo adds to every selection, which must be there. */
export function withoutTypenames(value) {
  if (Array.isArray(value)) return value.map(withoutTypenames);
  if (value === null || typeof value !== "object") return value;
  const { __typename, ...fields } = value;
  if (!__typename) throw new Error(`without __typename: ${JSON.stringify(value)}`);
  return each(fields);
}

/** The same of an answer, whose own type Apollo leaves alone. */
export const each = (fields) =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, withoutTypenames(value)]));

/** Asks with a client of Apollo, past its cache. */
export async function ask(client, document, variables) {
  const { operation } = document.definitions[0];
  const asked = operation === "query"
    ? client.query({ query: document, variables, fetchPolicy: "no-cache" })
    : client.mutate({ mutation: document, variables, fetchPolicy: "no-cache" });
  const { data } = await asked.catch((error) => {
    throw error.graphQLErrors?.[0] ?? error;
  });
  return each(data);
}
