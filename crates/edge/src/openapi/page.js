// @ts-check
// The page of all interfaces: found while somebody types, opened where an address leads, and forms
// that send calls to this server. The page is whole without it, but for the forms. Nothing here
// turns text into markup, and credentials stay in their fields.

/** Characters of an answer that are shown. */
const SHOWN_MAX = 200_000;

/**
 * @typedef {object} Said
 * @property {string} found
 * @property {string} foundOne
 * @property {string} noneFound
 * @property {string} sending
 * @property {string} stopped
 * @property {string} unreachable
 * @property {string} noJson
 * @property {string} cut
 */

/** @type {Said} */
const said = JSON.parse(document.body.dataset.said ?? "{}");
const language = document.documentElement.lang;

/** @template {Element} E @param {ParentNode} root @param {string} selector @returns {E} */
function one(root, selector) {
  const element = root.querySelector(selector);
  if (!element) throw new Error(`the page has no ${selector}`);
  return /** @type {E} */ (element);
}

const operations = /** @type {HTMLDetailsElement[]} */ ([...document.querySelectorAll("details.operation")]);

/* Search and folding. */

/** @type {HTMLInputElement} */
const search = one(document, "#search");

function find() {
  const parts = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const operation of operations) {
    operation.hidden = !parts.every((part) => operation.dataset.words?.includes(part));
    const link = document.querySelector(`nav a[href="#${CSS.escape(operation.id)}"]`)?.parentElement;
    if (link) link.hidden = operation.hidden;
    if (!operation.hidden) found += 1;
  }
  for (const room of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("section.room"))) {
    const isFound = [...room.querySelectorAll("details.operation")].some((one) => !(/** @type {HTMLElement} */ (one).hidden));
    room.hidden = parts.length > 0 && !isFound;
    for (const part of /** @type {NodeListOf<HTMLElement>} */ (room.querySelectorAll(".schemas, .group"))) part.hidden = parts.length > 0;
  }
  const sentence = found === 0 ? said.noneFound : found === 1 ? said.foundOne : said.found.replace("{n}", found.toLocaleString(language));
  one(document, "#found").textContent = parts.length > 0 ? sentence : "";
}

/** @param {boolean} open */
function fold(open) {
  for (const operation of operations) if (!operation.hidden) operation.open = open;
}

/** Opens what the address names, and what stands around it. */
function reveal() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let element = target.closest("details"); element; element = element.parentElement?.closest("details") ?? null) element.open = true;
  target.scrollIntoView();
}

search.addEventListener("input", find);
one(document, "#unfold").addEventListener("click", () => fold(true));
one(document, "#fold").addEventListener("click", () => fold(false));
addEventListener("hashchange", reveal);
reveal();
if (search.value) find();

/* Calls. */

/** The path with its parameters. @param {HTMLFormElement} form */
function target(form) {
  let path = form.dataset.path ?? "";
  const query = new URLSearchParams();
  for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll("[data-in]"))) {
    if (field.dataset.in === "path") path = path.replace(`{${field.name}}`, encodeURIComponent(field.value));
    if (field.dataset.in === "query" && field.value !== "") query.append(field.name, field.value);
  }
  return query.size > 0 ? `${path}?${query}` : path;
}

/** What the call brings along: its own headers, and the first credential that is filled in. @param {HTMLFormElement} form */
function headersOf(form) {
  const headers = new Headers();
  for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll("[data-in=header]"))) {
    if (field.value !== "") headers.set(field.name, field.value);
  }
  for (const scheme of (form.dataset.schemes ?? "").split(" ").filter(Boolean)) {
    const field = /** @type {HTMLInputElement | null} */ (document.querySelector(`input[data-room="${form.dataset.room}"][data-scheme="${scheme}"]`));
    if (!field?.value) continue;
    headers.set(field.dataset.header ?? "", `${field.dataset.prefix}${field.value}`);
    break;
  }
  return headers;
}

/** @param {HTMLFormElement} form */
function bodyOf(form) {
  /** @param {string} name */
  const text = (name) => /** @type {HTMLTextAreaElement | null} */ (form.elements.namedItem(name))?.value ?? "";
  if (!form.dataset.graphql) return text("body");
  return JSON.stringify({ query: text("document"), variables: JSON.parse(text("variables") || "{}") });
}

/** The answer as it comes: a stream is shown while it runs. @param {Response} response @param {Element} place */
async function show(response, place) {
  const isJson = /json/.test(response.headers.get("content-type") ?? "");
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
    if (text.length > SHOWN_MAX) {
      await reader.cancel();
      text = text.slice(0, SHOWN_MAX) + `\n${said.cut}`;
      place.textContent = text;
      return;
    }
    place.textContent = text;
  }
  if (!isJson || text === "") return;
  try {
    place.textContent = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // It said that it is JSON, and is not: it stays as it came.
  }
}

/** @param {HTMLFormElement} form */
async function send(form) {
  const outcome = one(form, ".outcome");
  const status = /** @type {HTMLElement} */ (one(form, ".status"));
  const [headers, answer] = [one(form, ".headers"), one(form, ".answer")];
  const sending = /** @type {HTMLButtonElement} */ (one(form, "[type=submit]"));
  const stop = /** @type {HTMLButtonElement} */ (one(form, ".stop"));
  /** @type {HTMLElement} */ (outcome).hidden = false;
  delete status.dataset.kind;
  headers.textContent = answer.textContent = "";
  let body;
  try {
    body = bodyOf(form);
  } catch (problem) {
    status.textContent = said.noJson.replace("{problem}", /** @type {Error} */ (problem).message);
    return;
  }
  status.textContent = said.sending;
  const controller = new AbortController();
  stop.onclick = () => controller.abort();
  [sending.disabled, stop.hidden] = [true, false];
  const begun = performance.now();
  try {
    const method = (form.dataset.method ?? "get").toUpperCase();
    const sent = headersOf(form);
    const hasBody = body !== "" && form.dataset.media !== undefined;
    if (hasBody) sent.set("content-type", form.dataset.media ?? "");
    const response = await fetch(target(form), {
      method, headers: sent, body: hasBody ? body : undefined, signal: controller.signal, credentials: "same-origin", redirect: "manual",
    });
    const took = new Intl.NumberFormat(language, { style: "unit", unit: "millisecond", maximumFractionDigits: 0 }).format(performance.now() - begun);
    status.textContent = [response.status || response.type, response.statusText, "·", took].filter(Boolean).join(" ");
    status.dataset.kind = String(response.status).slice(0, 1);
    headers.textContent = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    await show(response, answer);
  } catch {
    status.textContent = controller.signal.aborted ? [status.dataset.kind && status.textContent, said.stopped].filter(Boolean).join(" · ") : said.unreachable;
  }
  [sending.disabled, stop.hidden] = [false, true];
}

document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (!form.matches(".trial")) return;
  event.preventDefault();
  if (form.dataset.ask && !confirm(form.dataset.ask)) return;
  void send(form);
});
