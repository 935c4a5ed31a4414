// @ts-check
// The desk, live: one stream of events for all its rows. After a gap, and at the beginning, the
// ledger is read; what is told meanwhile counts more.

import { byId, copy, counted, fill, given } from "./kit/dom.js";
import { follow } from "./kit/events.js";
import { showTime, showTimes } from "./kit/times.js";
import { translate } from "./reasons.js";
import { Row } from "./row.js";

/** What the house's clock says; the browser's may be wrong. */
const ahead = given.nowMs - Date.now();
const now = () => Date.now() + ahead;

/** @type {Map<string, Row>} */
const rows = new Map();

/** @param {any} told */
function hear(told) {
  switch (told.type) {
    case "slot":
      rows.get(told.source)?.hear(told, now());
      break;
    case "backfill":
      showBackfill(told.backfill);
      break;
    case "dead-letter":
      byId("new-letters").hidden = false;
      break;
    case "source":
      byId("changed").hidden = false;
      break;
    case "gap":
      load();
      break;
  }
}

/** Reads everything that may have changed unheard. What fails is read again after the next gap. */
function load() {
  for (const row of rows.values()) row.load(now()).catch(() => {});
  loadBackfills().catch(() => {});
  loadLetters().catch(() => {});
}

async function loadBackfills() {
  const answer = await fetch("/collect/backfills?limit=10");
  if (!answer.ok) return;
  const { backfills } = await answer.json();
  // The newest comes last, and stands first.
  for (const told of backfills.reverse()) showBackfill(told);
}

async function loadLetters() {
  const answer = await fetch("/collect/dead-letters?limit=10");
  if (!answer.ok) return;
  const { letters } = await answer.json();
  const shown = /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("#dead-letters [name=id]"));
  const known = new Set(Array.from(shown, (field) => field.value.replaceAll("#", ".")));
  const isNew = (/** @type {any} */ letter) => !known.has(letter.id);
  // A later page of them shows others anyway.
  const isFirst = !new URLSearchParams(location.search).has("letters");
  if (isFirst && letters.some(isNew)) byId("new-letters").hidden = false;
}

/** @param {boolean} is */
function connected(is) {
  byId("offline").hidden = is;
  if (is) load();
}

/** @param {any} told */
function showBackfill(told) {
  const list = byId("backfills");
  let item = list.querySelector(`[data-backfill="${CSS.escape(told.id)}"]`);
  if (!item) {
    item = copy("backfill");
    item.dataset.backfill = told.id;
    list.prepend(item);
    const [from, to] = item.querySelectorAll("time");
    showTime(from, told.from);
    showTime(to, told.to);
  }
  const bar = item.querySelector("progress");
  const behind = told.done + told.failed + told.skipped;
  // What was read may be older than what was told meanwhile.
  if (item.hasAttribute("data-done") || behind < bar.value) return;
  item.toggleAttribute("data-done", told.state === "done");
  bar.max = told.total;
  bar.value = behind;
  const line = item.querySelector("[data-slot=progress]");
  const number = (/** @type {string} */ _, /** @type {string} */ name) => told[name].toLocaleString(document.documentElement.lang);
  line.textContent = line.dataset.sentence.replace(/\{(\w+)\}/g, number);
  const many = counted(line.dataset.many, told.sources.length);
  fill(item, { who: told.sources.length === 1 ? told.sources[0] : many });
}

/**
 * Shows an answer as it came, in its row.
 * @param {HTMLElement} element
 */
async function preview(element) {
  const answer = await fetch(`/collect/sources/${element.dataset.name}/preview`, { method: "POST" });
  const told = await answer.json();
  const place = /** @type {HTMLElement} */ (element.querySelector(".preview"));
  const verdict = told.trouble ?? told.detail;
  fill(place, {
    verdict: verdict ? `✕ ${translate(verdict)}` : `✓ ${counted(given.said.count, told.count)}`,
    status: [told.status ?? given.said.noAnswer, told.contentType ?? ""].join(" "),
    took: counted(given.said.took, told.latencyMs ?? 0),
    url: told.url ?? "",
    body: told.body ?? "",
  });
  /** @type {HTMLElement} */ (place.querySelector(".cut")).hidden = !told.isCut;
  place.hidden = false;
}

/** @param {SubmitEvent} event */
function submit(event) {
  const button = /** @type {HTMLButtonElement | null} */ (event.submitter);
  const element = /** @type {HTMLElement} */ (event.target).closest("article");
  if (button?.value !== "preview" || !element) return;
  event.preventDefault();
  button.disabled = true;
  preview(element).catch(() => location.reload()).finally(() => (button.disabled = false));
}

/** The same moment as a field of a form writes it in the reader's zone. @param {Date} time */
const written = (time) => new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);

/**
 * Times of a backfill are typed in the reader's zone, and sent in UTC, which the server reads.
 * @param {HTMLFormElement} form
 */
function inReadersZone(form) {
  const fields = /** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll("[type=datetime-local]"));
  for (const field of fields) field.value = written(new Date(`${field.value}Z`));
  for (const label of /** @type {NodeListOf<HTMLElement>} */ (form.querySelectorAll("[data-local]"))) {
    label.textContent = label.dataset.local ?? "";
  }
  form.addEventListener("formdata", ({ formData }) => {
    for (const { name, value } of fields) formData.set(name, new Date(value).toISOString().slice(0, 19));
  });
}

/** A link cannot ask for CSV by itself. @param {MouseEvent} event */
async function save(event) {
  const link = /** @type {HTMLAnchorElement | null} */ (/** @type {Element} */ (event.target).closest("[data-csv]"));
  if (!link) return;
  event.preventDefault();
  const answer = await fetch(link.href, { headers: { accept: "text/csv" } });
  const file = document.createElement("a");
  file.href = URL.createObjectURL(await answer.blob());
  file.download = `${link.closest("article")?.dataset.name}.csv`;
  file.click();
  // The browser takes it when it likes.
  setTimeout(() => URL.revokeObjectURL(file.href), 60_000);
}

for (const element of document.querySelectorAll("article.source")) {
  const row = new Row(/** @type {HTMLElement} */ (element));
  rows.set(row.name, row);
}
showTimes(byId("content"));
for (const form of document.querySelectorAll("form.backfill")) inReadersZone(/** @type {HTMLFormElement} */ (form));
document.addEventListener("submit", submit);
document.addEventListener("click", save);
// On a phone the rows are what counts.
if (matchMedia("(width < 48rem)").matches) document.querySelector(".legend")?.removeAttribute("open");
setInterval(() => rows.forEach((row) => row.tick(now())), 250);
if (rows.size > 0) follow(`/collect/stream/${[...rows.keys()].join(",")}`, "", { hear, connected });
