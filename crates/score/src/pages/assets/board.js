// @ts-check
// A board that moves while it is looked at.

import { byId, counted, fill, given } from "./kit/dom.js";
import { follow } from "./kit/events.js";
import { call } from "./api.js";
import { draw } from "./chart.js";
import { Rows } from "./rows.js";
import { number } from "./show.js";

const board = `/ranking/${given.game}/${given.period}`;
const ME = "nagaya.score.me";
/** Neighbours and distribution follow a change so much later, not all browsers at once. */
const LATER_MS = 3_000;

let me = byId("me").value || (localStorage.getItem(ME) ?? "");
const rows = new Rows(byId("rows"), () => me);
const neighbours = new Rows(byId("neighbours"), () => me);
/** @type {ReturnType<typeof setTimeout> | undefined} */
let later;

/** @param {any} told */
function hear(told) {
  rows.hear(told);
  byId("nobody").hidden = !rows.isEmpty;
  if (told.type === "board") refresh();
  else later ??= setTimeout(refresh, LATER_MS * (0.5 + Math.random()));
}

/** @param {boolean} is */
function connected(is) {
  byId("state").classList.toggle("is-live", is);
  fill(byId("state"), { state: is ? given.said.live : given.said.away });
}

async function refresh() {
  clearTimeout(later);
  later = undefined;
  try {
    const distribution = await call("GET", `${board}/distribution${me && `?userId=${me}`}`);
    draw(distribution);
    byId("count").textContent = counted(given.said.players, distribution.total);
    if (me) await showMe(distribution.standing);
  } catch {
    // What is shown stays; the next change asks again.
  }
}

/**
 * Shows where the player stands who looks.
 * @param {any} standing
 */
async function showMe(standing) {
  if (standing) {
    neighbours.show(await call("GET", `${board}/around/${me}`));
    const said = given.said.standing.replace("{n}", number(standing.rank.ordinal));
    byId("standing").textContent = said.replace("{total}", number(standing.total));
    byId("estimate").hidden = !standing.estimate;
  }
  setFound(Boolean(standing));
}

/** @param {boolean} is */
function setFound(is) {
  byId("found").hidden = !is;
  byId("lost").hidden = is;
}

byId("seek").addEventListener("submit", (/** @type {Event} */ event) => {
  event.preventDefault();
  me = byId("me").value.trim();
  localStorage.setItem(ME, me);
  history.replaceState(null, "", `?${new URLSearchParams({ me })}`);
  for (const link of /** @type {any} */ (document.querySelectorAll(".periods a"))) {
    link.search = `?${new URLSearchParams({ me })}`;
  }
  rows.draw();
  refresh();
});

byId("me").value = me;
// A month that is over does not move any more.
if (byId("state").hidden) refresh();
else follow(`/score${board}/stream`, "", { hear, connected });
