// @ts-check
// The operator's desk. Everything goes with a key that this tab alone keeps, or without one for the
// operator who is signed in.

import { byId, copy, counted, fill, given } from "./kit/dom.js";
import { showTime } from "./kit/times.js";
import { Refused, call } from "./api.js";
import { editGames } from "./games-form.js";
import { number, seconds } from "./show.js";

const KEY = "nagaya.score.key";
/** Entries of the audit that are shown at once. */
const PAGE = 30;
let key = sessionStorage.getItem(KEY) ?? "";
/** The number before the earliest entry that is shown. */
let earliest = 0;
/** Whether the chain is whole as far as it is shown. */
let isWhole = true;

/**
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 */
const operate = (method, path, body) => call(method, path, { body, key });

/**
 * Does something, says what it answers, and shows what has become of it all.
 * @param {() => Promise<string | void>} work
 */
async function attempt(work) {
  const told = byId("told");
  try {
    told.textContent = (await work()) ?? "";
    told.classList.remove("alert");
    await Promise.all([showBans(), showAudit()]);
  } catch (error) {
    tell(error);
  }
}

/** @param {unknown} error */
function tell(error) {
  const told = byId("told");
  told.classList.add("alert");
  if (!(error instanceof Refused)) told.textContent = given.said.offline;
  else if (isUnknown(error)) told.textContent = key ? given.said.keyWrong : given.said.signedOut;
  else told.textContent = `${given.said.failed} ${error.message}`;
  told.scrollIntoView({ block: "nearest" });
}

/** @param {unknown} error whether it says that this browser may not operate */
const isUnknown = (error) => error instanceof Refused && (error.status === 401 || error.status === 403);

async function showSuspicions() {
  const all = await operate("GET", "/suspicions");
  byId("suspicions").replaceChildren(
    ...all.map((/** @type {any} */ one) => {
      const item = copy("suspicion");
      const { gameId: game, userId, detail } = one;
      const user = userId ?? given.said.nobody;
      const reason = given.said.reasons[one.reason] ?? one.reason;
      const proof = userId && !one.claimed ? given.said.unproven : "";
      fill(item, { reason, game, user, proof, detail, score: number(one.score), time: `${seconds(one.timeMs)} s` });
      showTime(/** @type {any} */ (item.querySelector("time")), one.at);
      item.addEventListener("click", (event) => {
        const button = /** @type {HTMLElement} */ (event.target).closest("[data-act]");
        const act = /** @type {HTMLElement | null} */ (button)?.dataset.act;
        if (act) prepare(act, { user: userId ?? "", game, reason });
      });
      return item;
    }),
  );
}

/**
 * Fills in a form from a suspicion, for the operator to send.
 * @param {string} act
 * @param {Record<string, string>} values
 */
function prepare(act, values) {
  const form = byId(act);
  for (const [name, value] of Object.entries(values)) {
    if (form.elements[name]) form.elements[name].value = value;
  }
  form.scrollIntoView({ block: "center" });
  form.elements.reason.focus();
}

async function showBans() {
  const all = await operate("GET", "/bans");
  byId("bans").replaceChildren(
    ...all.map((/** @type {any} */ { userId: user, reason }) => {
      const item = copy("banned");
      fill(item, { user, reason });
      /** @type {any} */ (item.querySelector("button")).onclick = () =>
        attempt(async () => {
          const { rows = 0 } = await operate("DELETE", `/bans/${user}`);
          return counted(given.said.unbanned, rows);
        });
      return item;
    }),
  );
}

/** The newest entries of the audit. */
async function showAudit() {
  const { newest } = await operate("GET", "/audit?limit=1");
  byId("audit").replaceChildren();
  earliest = newest;
  isWhole = true;
  await showOlder();
}

async function showOlder() {
  const after = Math.max(0, earliest - PAGE);
  const { whole, entries } = await operate("GET", `/audit?after=${after}&limit=${PAGE}`);
  const older = entries.filter((/** @type {any} */ entry) => entry.number <= earliest).reverse();
  byId("audit").append(...older.map(entryOf));
  earliest = after;
  byId("older").hidden = earliest === 0;
  isWhole &&= whole;
  byId("whole").hidden = !isWhole;
  byId("broken").hidden = isWhole;
}

/** @param {any} entry */
function entryOf({ number: place, at, actor, action, detail, hash }) {
  const item = copy("entry");
  const particulars = Object.entries(detail).map(([name, value]) => `${name}: ${value}`);
  const told = given.said.actions[action] ?? action;
  fill(item, { action: `${place}. ${told}`, actor, detail: particulars.join(", "), hash });
  showTime(/** @type {any} */ (item.querySelector("time")), at);
  return item;
}

/** @param {boolean} dryRun */
async function trim(dryRun) {
  const { boards } = await operate("POST", "/trim", { dryRun });
  const table = byId("trims");
  table.hidden = false;
  byId("trims-said").textContent = dryRun ? given.said.trimDry : given.said.trimDone;
  let deleted = 0;
  table.tBodies[0].replaceChildren(
    ...boards.map((/** @type {any} */ board) => {
      const row = copy("trimmed");
      deleted += board.deleted;
      fill(row, {
        board: `${board.gameId} ${board.period}`,
        kept: number(board.kept),
        deleted: number(board.deleted),
        mark: board.archived ? given.said.archives : "",
        refused: board.refused ?? "",
      });
      return row;
    }),
  );
  const button = byId("trim");
  button.disabled = !dryRun;
  button.dataset.rows = String(deleted);
}

/**
 * What a form says, and a promise of what it does.
 * @param {string} id
 * @param {(values: Record<string, string>) => Promise<string | void>} send
 */
function onSubmit(id, send) {
  byId(id).addEventListener("submit", (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const values = /** @type {any} */ (Object.fromEntries(new FormData(form)));
    for (const name of Object.keys(values)) values[name] = values[name].trim();
    attempt(async () => {
      const told = await send(values);
      if (told) form.reset();
      return told;
    });
  });
}

function listen() {
  byId("look").onclick = () => showSuspicions().catch(tell);
  byId("older").onclick = () => showOlder().catch(tell);
  byId("dry").onclick = () => attempt(() => trim(true));
  byId("trim").onclick = () => {
    const rows = Number(byId("trim").dataset.rows);
    if (confirm(counted(given.said.confirmTrim, rows))) attempt(() => trim(false));
  };
  byId("leave").onclick = () => {
    sessionStorage.removeItem(KEY);
    location.reload();
  };
  byId("score-all").onchange = () => {
    byId("score-period").disabled = byId("score-all").checked;
  };
  byId("score").addEventListener("reset", () => {
    byId("score-period").disabled = false;
  });
  onSubmit("score", async ({ game, period, all, user, reason }) => {
    if (!confirm(all ? given.said.confirmScores : given.said.confirmScore)) return undefined;
    const path = (all ? [game, user] : [game, period, user]).map(encodeURIComponent).join("/");
    await operate("DELETE", `/scores/${path}?reason=${encodeURIComponent(reason)}`);
    return given.said.deleted;
  });
  onSubmit("ban", async ({ user, reason }) => {
    const { rows = 0 } = await operate("PUT", `/bans/${encodeURIComponent(user)}`, { reason });
    return counted(given.said.banned, rows);
  });
}

async function open() {
  // First alone: who may not look asks once.
  await showSuspicions();
  await Promise.all([showBans(), showAudit()]);
  if (key) sessionStorage.setItem(KEY, key);
  byId("enter").hidden = true;
  byId("leave").hidden = !key;
  byId("desk").hidden = false;
  byId("told").textContent = "";
  await editGames({ operate, attempt });
}

listen();
byId("enter").addEventListener("submit", (/** @type {SubmitEvent} */ event) => {
  event.preventDefault();
  key = byId("key").value.trim();
  open().catch(tell);
});
// Without a key it may be the operator who is signed in; else the form says what to do.
open().catch((error) => {
  if (key || !isUnknown(error)) tell(error);
});
