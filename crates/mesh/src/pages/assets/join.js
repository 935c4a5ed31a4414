// @ts-check
// The page for pupils: takes the key from behind `#`, says whether the device reaches the class, and
// lists the groups that are open.

import { call, Refused } from "./client.js";
import { letCopy } from "./copying.js";
import { byId, copy, given } from "./kit/dom.js";

const LOOK_MS = 5_000;
const { said } = given;
const DOMAIN = "mutation { createDomain }";
const GROUPS = "query ($d: String!) { listGroupsByDomain(domain: $d) { name } }";

const keyBehindHash = () => new URLSearchParams(location.hash.slice(1)).get("key") ?? "";
let key = keyBehindHash();
/** Of several looks only the newest is shown. */
let newest = 0;

/** Says something, if it is new: readers of screens read every change. @param {string} text */
function say(text) {
  if (byId("reach").textContent !== text) byId("reach").textContent = text;
}

/** @param {{ name: string }[] | null} groups */
function show(groups) {
  byId("open").hidden = groups === null;
  byId("no-groups").hidden = groups?.length !== 0;
  const items = (groups ?? []).map(({ name }) => {
    const item = copy("open-group");
    item.textContent = name;
    return item;
  });
  byId("open-groups").replaceChildren(...items);
}

/** @param {string} reason */
function askForKey(reason) {
  say(reason);
  byId("asks-key").hidden = false;
  show(null);
}

async function look() {
  byId("key").textContent = key || "–";
  /** @type {HTMLButtonElement} */ (document.querySelector("[data-copies=key]")).hidden = !key;
  if (!key) return askForKey(said.noKey);
  newest += 1;
  const mine = newest;
  try {
    const domain = await call(key, DOMAIN);
    const groups = await call(key, GROUPS, { d: domain });
    if (mine !== newest) return;
    byId("asks-key").hidden = true;
    say(said.reached);
    show(groups);
  } catch (error) {
    if (mine !== newest) return;
    if (error instanceof Refused && error.type === "UnauthorizedException") askForKey(said.wrongKey);
    else say(said.away);
  }
}

/** @param {string} next */
function take(next) {
  key = next.trim();
  say(said.checking);
  look();
}

byId("asks-key").addEventListener("submit", (/** @type {Event} */ event) => {
  event.preventDefault();
  take(byId("typed").value);
});
addEventListener("hashchange", () => take(keyBehindHash()));
// Another way of writing has the key too.
for (const link of document.querySelectorAll("a[data-keeps-key]")) {
  link.addEventListener("click", () => (/** @type {HTMLAnchorElement} */ (link).hash = location.hash));
}
letCopy(said);
take(key);
setInterval(look, LOOK_MS);
