// @ts-check
// Numbers as the server writes them.

/** @param {number} value */
export const number = (value) => value.toLocaleString("en");

/**
 * Milliseconds as `1:02.345`, without the minutes if there are none.
 * @param {number} millis
 */
export function seconds(millis) {
  const minutes = Math.floor(millis / 60_000);
  const rest = ((millis % 60_000) / 1000).toFixed(3);
  return minutes ? `${minutes}:${rest.padStart(6, "0")}` : rest;
}

/**
 * A value of what a game sorts by.
 * @param {string} field
 * @param {number} value
 */
export function valueOf(field, value) {
  if (field === "timeMs") return seconds(value);
  return field === "updatedAt" ? new Date(value).toISOString().slice(0, 10) : number(value);
}
