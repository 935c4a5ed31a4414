// @ts-check
// A class, live: one stream for what its nodes tell and what happens; who comes and goes, and who
// was heard of, is looked up every few seconds.

import { byId, copy, fill, given } from "./kit/dom.js";
import { follow } from "./kit/events.js";
import { Graph } from "./graph.js";

const LOOK_MS = 3_000;
const TICK_MS = 500;
const { said, domain } = given;

/** What the house's clock says; the browser's may be wrong. */
let ahead = given.state.nowMs - Date.now();
const now = () => Date.now() + ahead;

class Group {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    this.graph = new Graph(/** @type {SVGElement} */ (element.querySelector(".graph")));
    this.people = /** @type {HTMLElement} */ (element.querySelector(".people"));
    /** @type {any} */
    this.state = null;
  }

  /** @param {any} state */
  show(state) {
    this.state = state;
    fill(this.element, { name: state.name });
    for (const field of this.element.querySelectorAll("form > [name=group]")) /** @type {HTMLInputElement} */ (field).value = state.id;
    this.graph.show(state.nodes);
    const here = new Set(state.nodes.map((/** @type {any} */ { id }) => id));
    for (const row of this.people.querySelectorAll("li")) if (!here.has(row.dataset.node)) row.remove();
    for (const node of state.nodes) this.row(node);
    this.tick();
  }

  /** @param {any} node */
  row(node) {
    let row = /** @type {HTMLElement | null} */ (this.people.querySelector(`[data-node="${CSS.escape(node.id)}"]`));
    if (!row) {
      row = copy("node");
      row.dataset.node = node.id;
      /** @type {HTMLInputElement} */ (row.querySelector("[name=node]")).value = node.id;
      /** @type {HTMLInputElement} */ (row.querySelector("[name=group]")).value = this.state.id;
      /** @type {HTMLElement} */ (row.querySelector("form")).hidden = node.isHost;
      /** @type {HTMLElement} */ (row.querySelector(".badge")).hidden = !node.isHost;
      /** @type {HTMLElement} */ (row.querySelector("button .unseen")).textContent = ` ${node.id}`;
      this.people.append(row);
    }
    const told = node.data.map((/** @type {string[]} */ [key, value]) => `${key}: ${value}`).join("  ");
    fill(row, { id: node.id, told });
  }

  tick() {
    this.graph.tick(now());
    const left = Math.max(0, Math.floor((this.state.expiresMs - now()) / 1000));
    const two = (/** @type {number} */ part) => String(part).padStart(2, "0");
    fill(this.element, { left: `${Math.floor(left / 60)}:${two(left % 60)}` });
  }

  /** What a node told: the newest value of each key. @param {any} status */
  told({ nodeId, data }) {
    const node = this.state.nodes.find((/** @type {any} */ { id }) => id === nodeId);
    if (!node) return look();
    const values = new Map(node.data);
    for (const { key, value } of data) values.set(key, value);
    node.data = [...values];
    this.graph.show(this.state.nodes);
    this.row(node);
  }

  /** @param {any} batch */
  happened({ events, firedByNodeId }) {
    const last = events.at(-1);
    if (!last) return;
    this.graph.flash(firedByNodeId);
    fill(this.element, { event: said.event.replace("{name}", () => last.name).replace("{who}", () => firedByNodeId) });
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
  byId("more").hidden = state.more === 0;
  byId("more").querySelector("span").textContent = String(state.more);
  listen([...groups.keys()].join(","));
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

document.addEventListener("submit", (event) => {
  const question = /** @type {HTMLElement} */ (event.target).dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
});
show(given.state);
setInterval(look, LOOK_MS);
setInterval(() => groups.forEach((group) => group.tick()), TICK_MS);
