// @ts-check
// A class, live: one stream for what its nodes report and what happens; who comes and goes, and who
// was heard of, is looked up every few seconds.

import { letCopy } from "./copying.js";
import { byId, copy, fill, given } from "./kit/dom.js";
import { follow } from "./kit/events.js";
import { showTime } from "./kit/times.js";
import { Graph } from "./graph.js";
import { play, start, stop } from "./practice.js";
import { Tiles } from "./tiles.js";

const LOOK_MS = 3_000;
const TICK_MS = 500;
/** Members that a circle has room for; more are a grid. */
const CIRCLE_MAX = 12;
const { said, domain } = given;

/** What the server's clock says; the browser's may be wrong. */
let ahead = given.state.nowMs - Date.now();
const now = () => Date.now() + ahead;

/** @param {string} sentence @param {string} name */
const named = (sentence, name) => sentence.replace("{name}", () => name);

/** @param {{ one: string, other: string }} words @param {number} n */
const counted = (words, n) => (n === 1 ? words.one : words.other).replace("{n}", String(n));

/** Sets the value of the fields of this name. @param {Element} root @param {string} name @param {string} value */
function setFields(root, name, value) {
  for (const field of root.querySelectorAll(`input[type=hidden][name=${name}]`)) /** @type {HTMLInputElement} */ (field).value = value;
}

class Group {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    this.graph = new Graph(/** @type {SVGElement} */ (element.querySelector(".graph")));
    this.tiles = new Tiles(/** @type {HTMLElement} */ (element.querySelector(".tiles")));
    this.people = /** @type {HTMLElement} */ (element.querySelector(".people"));
    /** @type {any} */
    this.state = null;
    /** Nodes that have reported since the last frame: a class reports hundreds of times a second. @type {Set<any>} */
    this.changed = new Set();
  }

  /** @param {any} state */
  show(state) {
    this.state = state;
    const { id, name, nodes, isPractice, endsAt } = state;
    fill(this.element, { count: counted(said.people, nodes.length) });
    for (const place of this.element.querySelectorAll("h2 [data-slot=name], summary [data-slot=name]")) place.textContent = name;
    setFields(this.element, "group", id);
    const time = /** @type {HTMLTimeElement} */ (this.element.querySelector("time"));
    if (time.dateTime !== endsAt || !time.title) showTime(time, endsAt);
    /** @type {HTMLElement} */ (this.element.querySelector("[data-part=practice]")).hidden = !isPractice;
    const ending = /** @type {HTMLElement} */ (this.element.querySelector(".ending"));
    if (isPractice) delete ending.dataset.confirm;
    else ending.dataset.confirm = named(said.confirmEnd, name);
    ending.querySelector("button")?.setAttribute("aria-label", named(said.endNamed, name));
    const here = new Set(nodes.map((/** @type {any} */ node) => node.id));
    for (const row of this.people.querySelectorAll("li")) if (!here.has(row.dataset.node)) row.remove();
    for (const node of nodes) this.row(node);
    this.draw();
    this.tick();
  }

  /** Draws everybody: a circle, or a grid for those who have no room on one. */
  draw() {
    const { nodes } = this.state;
    const isCrowd = nodes.length > CIRCLE_MAX + 1;
    this.element.classList.toggle("crowd", isCrowd);
    this.graph.show(isCrowd ? [] : nodes);
    this.tiles.show(isCrowd ? nodes : []);
  }

  /** @param {any} node */
  row(node) {
    let row = /** @type {HTMLElement | null} */ (this.people.querySelector(`[data-node="${CSS.escape(node.id)}"]`));
    if (!row) {
      row = copy("node");
      row.dataset.node = node.id;
      setFields(row, "node", node.id);
      setFields(row, "group", this.state.id);
      /** @type {HTMLElement} */ (row.querySelector(".removing")).hidden = node.isHost;
      /** @type {HTMLElement} */ (row.querySelector(".badge")).hidden = !node.isHost;
      this.people.append(row);
    }
    const told = node.data.map((/** @type {string[]} */ [key, value]) => `${key}: ${value}`).join("  ");
    fill(row, { told });
    if (row.dataset.name !== node.name) this.nameRow(row, node);
  }

  /** @param {HTMLElement} row @param {any} node */
  nameRow(row, node) {
    row.dataset.name = node.name;
    fill(row, { name: node.name, alias: node.alias });
    const name = /** @type {HTMLElement} */ (row.querySelector("[data-slot=name]"));
    name.lang = node.lang;
    name.title = node.id;
    const field = /** @type {HTMLInputElement} */ (row.querySelector(".naming [name=name]"));
    if (document.activeElement !== field) field.value = node.label;
    field.defaultValue = node.label;
    field.ariaLabel = named(said.nameOf, node.name);
    row.querySelector(".naming button")?.setAttribute("aria-label", named(said.saveNamed, node.name));
    row.querySelector(".removing button")?.setAttribute("aria-label", named(said.removeNamed, node.name));
    /** @type {HTMLElement} */ (row.querySelector(".removing")).dataset.confirm = named(said.confirmRemove, node.name);
  }

  tick() {
    for (const drawing of [this.graph, this.tiles]) drawing.tick(now());
    const left = Math.max(0, Math.floor((this.state.expiresMs - now()) / 1000));
    const two = (/** @type {number} */ part) => String(part).padStart(2, "0");
    fill(this.element, { left: said.left.replace("{left}", `${Math.floor(left / 60)}:${two(left % 60)}`) });
  }

  /** What a node reported: the newest value of each key. @param {any} status */
  told({ nodeId, data }) {
    const node = this.find(nodeId);
    if (!node) return look();
    const values = new Map(node.data);
    for (const { key, value } of data) values.set(key, value);
    node.data = [...values];
    if (this.changed.size === 0) requestAnimationFrame(() => this.refresh());
    this.changed.add(node);
  }

  /** Shows what was reported since the last frame. */
  refresh() {
    for (const node of this.changed) {
      // The class was read anew since then, with what this node reported.
      if (!this.state.nodes.includes(node)) continue;
      for (const drawing of [this.graph, this.tiles]) drawing.refresh(node);
      this.row(node);
    }
    this.changed.clear();
  }

  /** @param {any} batch */
  happened({ events, firedByNodeId }) {
    const last = events.at(-1);
    if (!last) return;
    for (const drawing of [this.graph, this.tiles]) drawing.flash(firedByNodeId);
    const who = this.find(firedByNodeId)?.name ?? firedByNodeId;
    fill(this.element, { event: named(said.event, last.name).replace("{who}", () => who) });
  }

  /** @param {string} id */
  find(id) {
    return this.state.nodes.find((/** @type {any} */ node) => node.id === id);
  }
}

/** @type {Map<string, Group>} */
const groups = new Map();
let followed = "";
let leave = () => {};

/** @param {any} state */
function show(state) {
  ahead = state.nowMs - Date.now();
  const list = byId("groups");
  const here = new Set(state.groups.map((/** @type {any} */ { id }) => id));
  const wasEmpty = groups.size === 0;
  for (const [id, group] of groups) {
    if (here.has(id)) continue;
    group.element.remove();
    groups.delete(id);
  }
  for (const told of state.groups) {
    let group = groups.get(told.id);
    if (!group) {
      const known = list.querySelector(`[data-group="${CSS.escape(told.id)}"]`);
      const element = /** @type {HTMLElement} */ (known ?? copy("group"));
      element.dataset.group = told.id;
      if (!known) list.append(element);
      group = new Group(element);
      groups.set(told.id, group);
    }
    group.show(told);
  }
  showCounts(state);
  // A class that begins needs the room; somebody who copies a key is not interrupted.
  const ways = byId("ways");
  if (wasEmpty && here.size > 0 && !ways.contains(document.activeElement)) ways.open = false;
  const practice = state.groups.find((/** @type {any} */ group) => group.isPractice);
  if (practice) play(practice.id);
  else stop();
  listen([...groups.keys()].join(","));
}

/** @param {any} state */
function showCounts(state) {
  const overview = byId("overview");
  overview.hidden = state.groups.length === 0;
  let people = 0;
  for (const { nodes } of state.groups) people += nodes.length;
  fill(overview, { groups: counted(said.groups, state.groups.length + state.more), people: counted(said.people, people) });
  byId("more").hidden = state.more === 0;
  byId("more").querySelector("span").textContent = String(state.more);
}

/** Follows these groups, if they are others than before. @param {string} ids */
function listen(ids) {
  if (ids === followed && ids) return;
  leave();
  followed = ids;
  leave = () => {};
  if (!ids) return connected(true);
  leave = follow(`/mesh/class/stream?domain=${encodeURIComponent(domain)}&groups=${encodeURIComponent(ids)}`, "", { hear, connected });
}

/** @param {any} told */
function hear(told) {
  if (told.type === "gap") return look();
  const message = told.data?.onMessageInGroup ?? told.onMessageInGroup ?? told;
  const group = groups.get(message.groupId);
  if (message.nodeStatus) group?.told(message.nodeStatus);
  if (message.batchEvent) group?.happened(message.batchEvent);
  if (message.groupDissolve) look();
}

/** @param {boolean} is */
function connected(is) {
  byId("state").textContent = is ? said.live : said.away;
}

let looking = false;

/** Reads the class anew. What fails is read again soon. */
async function look() {
  if (looking) return;
  looking = true;
  try {
    const answer = await fetch(`/mesh/class/state?domain=${encodeURIComponent(domain)}`);
    if (answer.ok) show(await answer.json());
  } catch {
    connected(false);
  } finally {
    looking = false;
  }
}

/** Saves a name without leaving the page. @param {HTMLFormElement} form */
async function saveName(form) {
  const field = /** @type {HTMLInputElement} */ (form.elements.namedItem("name"));
  if (field.value.trim() === field.defaultValue) return;
  const before = field.defaultValue;
  field.defaultValue = field.value.trim();
  try {
    const body = new URLSearchParams(/** @type {any} */ (new FormData(form)));
    // The answer leads back to this page, which is here already.
    const answer = await fetch(form.action, { method: "POST", body, redirect: "manual" });
    if (answer.type !== "opaqueredirect") throw new Error(String(answer.status));
    field.setCustomValidity("");
    await look();
  } catch {
    field.defaultValue = before;
    field.setCustomValidity(said.nameFailed);
    field.reportValidity();
  }
}

document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (form.classList.contains("naming")) {
    event.preventDefault();
    saveName(form);
    return;
  }
  const question = form.dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
});
// Who goes on to the next name has written this one.
document.addEventListener("change", ({ target }) => {
  const form = /** @type {HTMLElement} */ (target).closest("form.naming");
  if (form) saveName(/** @type {HTMLFormElement} */ (form));
});
document.addEventListener("input", ({ target }) => {
  const field = /** @type {HTMLElement} */ (target);
  if (field instanceof HTMLInputElement) field.setCustomValidity("");
});
byId("practice").addEventListener("click", async () => {
  byId("practice").disabled = true;
  try {
    await start();
    byId("practice-state").textContent = "";
    await look();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    byId("practice-state").textContent = said.practiceFailed.replace("{why}", () => why);
  } finally {
    byId("practice").disabled = false;
  }
});
letCopy(said);
show(given.state);
setInterval(look, LOOK_MS);
setInterval(() => groups.forEach((group) => group.tick()), TICK_MS);
