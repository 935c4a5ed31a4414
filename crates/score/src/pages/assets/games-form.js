// @ts-check
// The editor of games.

import { byId, given } from "./kit/dom.js";
import { call } from "./api.js";

/** Numbers that a game need not have. */
const OPTIONAL = ["minPlayMs", "minScore", "maxScore", "maxScorePerSecond", "timeShortfallMs"];
const NEEDED = ["topN", "timeToleranceMs"];

/** What a new game begins with. */
const NEW = { gameName: "", sort: [{ by: "score", dir: "desc" }, { by: "timeMs", dir: "asc" }], topN: 100, timeToleranceMs: 1500, origins: [] };

/** @type {any[]} */
let games = [];

/** @param {any} game */
function show(game) {
  const { elements } = byId("game");
  elements.gameName.value = game.gameName;
  for (const name of [...NEEDED, ...OPTIONAL]) elements[name].value = game[name] ?? "";
  elements.requireClaim.checked = game.requireClaim ?? false;
  elements.origins.value = (game.origins ?? []).join("\n");
  for (const [at, field] of elements.by.entries()) {
    field.value = game.sort[at]?.by ?? "";
    elements.dir[at].value = game.sort[at]?.dir ?? "desc";
  }
  const isKnown = games.some(({ gameName }) => gameName === game.gameName);
  elements.gameName.readOnly = isKnown;
  byId("delete-game").hidden = !isKnown;
}

/** What the form says. */
function read() {
  const { elements } = byId("game");
  const rules = [...elements.by].map((field, at) => ({ by: field.value, dir: elements.dir[at].value }));
  /** @type {Record<string, unknown>} */
  const game = { gameName: elements.gameName.value.trim(), sort: rules.filter(({ by }) => by) };
  for (const name of NEEDED) game[name] = Number(elements[name].value);
  for (const name of OPTIONAL) {
    if (elements[name].value !== "") game[name] = Number(elements[name].value);
  }
  const lines = elements.origins.value.split("\n").map((/** @type {string} */ line) => line.trim());
  game.origins = lines.filter(Boolean);
  game.requireClaim = elements.requireClaim.checked;
  return game;
}

/** @param {string} name the game to edit next */
async function load(name) {
  const listed = await call("GET", "/games");
  games = listed.games;
  byId("problem").textContent = listed.problem ?? "";
  const pick = byId("pick");
  const names = games.map(({ gameName }) => new Option(gameName, gameName));
  pick.replaceChildren(pick.options[0], ...names);
  pick.value = name;
  showGame(name);
}

/** @param {string} name empty for a new game */
function showGame(name) {
  show(games.find(({ gameName }) => gameName === name) ?? NEW);
}

/**
 * @param {{ operate: (method: string, path: string, body?: object) => Promise<any>,
 *   attempt: (work: () => Promise<string | void>) => Promise<void> }} desk
 */
export async function editGames({ operate, attempt }) {
  // At once: an answer that comes later would take back what was typed meanwhile.
  byId("pick").onchange = () => showGame(byId("pick").value);
  byId("sample").onclick = () => show({ ...NEW, ...given.sample });
  byId("delete-game").onclick = () => {
    if (!confirm(given.said.confirmGame)) return;
    attempt(async () => {
      await operate("DELETE", `/games/${byId("name").value}`);
      await load("");
      return given.said.deleted;
    });
  };
  byId("game").addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    attempt(async () => {
      const game = /** @type {any} */ (read());
      await operate("PUT", `/games/${encodeURIComponent(game.gameName)}`, game);
      await load(game.gameName);
      return given.said.saved;
    });
  });
  await load("");
}
