// @ts-check
// Figures in the units that people like.

const language = document.documentElement.lang;
const short = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 });
const plain = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"];

/** @param {number} count */
export function number(count) {
  return count < 10_000 ? plain.format(count) : short.format(count);
}

/** @param {number} count */
export function bytes(count) {
  const step = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(count, 1)) / 10));
  const options = /** @type {const} */ ({ style: "unit", maximumFractionDigits: 1 });
  // Only the long form of a byte has a plural; that of a megabyte is too long for a tile.
  const unitDisplay = step === 0 ? "long" : "short";
  return new Intl.NumberFormat(language, { ...options, unit: UNITS[step], unitDisplay }).format(count / 1024 ** step);
}

/** @param {number} ms */
export function millis(ms) {
  const options = /** @type {const} */ ({ style: "unit", unit: "millisecond", maximumFractionDigits: 2 });
  return new Intl.NumberFormat(language, options).format(ms);
}

/** How long something is ago, in the one unit that says most. @param {number} seconds */
export function age(seconds) {
  const [unit, length] = seconds < 90 ? ["second", 1] : seconds < 5_400 ? ["minute", 60] : seconds < 129_600 ? ["hour", 3_600] : ["day", 86_400];
  const options = /** @type {const} */ ({ style: "unit", unitDisplay: "long", maximumFractionDigits: 0 });
  return new Intl.NumberFormat(language, { ...options, unit: String(unit) }).format(seconds / Number(length));
}
