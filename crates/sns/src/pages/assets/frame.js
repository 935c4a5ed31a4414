// @ts-check
// What every page does: lets people in and out, tells what happened, counts what is unread.

import { byId, fill } from "./kit/dom.js";
import { call, random, told } from "./api.js";
import { nameOf, pathOf, showFace } from "./parts.js";
import { current, device, forget, keep, onOther } from "./session.js";
import { follow } from "./socket.js";

const TOLD_MS = 6_000;
/** More than this many are not counted. */
const MANY = 20;

/** @type {ReturnType<typeof setTimeout> | undefined} */
let silence;
let unread = 0;

/**
 * Tells something at the edge of the page, for a while.
 * @param {string} text
 */
export function say(text) {
  clearTimeout(silence);
  byId("told").textContent = text;
  silence = setTimeout(() => (byId("told").textContent = ""), TOLD_MS);
}

/**
 * Sends a form, and tells in it what was wrong.
 * @param {HTMLFormElement} form
 * @param {(values: Record<string, any>) => Promise<void>} send
 * @param {() => void} [after] what follows, whatever came of it
 */
export function onSend(form, send, after = () => {}) {
  const [button] = /** @type {any} */ (form.querySelectorAll("button:not([type])"));
  const problem = /** @type {HTMLElement} */ (form.querySelector('[role="alert"]'));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    problem.textContent = "";
    try {
      await send(Object.fromEntries(new FormData(form)));
    } catch (error) {
      problem.textContent = told(error);
    } finally {
      button.disabled = false;
      after();
    }
  });
}

/**
 * Lets who is logged in see the page; everybody else sees the way in.
 * @param {{ begin: () => void, hear?: (told: any) => void, connected?: (is: boolean) => void }} page
 */
export function open({ begin, hear = () => {}, connected = () => {} }) {
  const session = current();
  onOther(() => location.reload());
  byId("entry").hidden = Boolean(session);
  byId("inside").hidden = !session;
  if (!session) return letIn();
  showSelf();
  byId("leave").addEventListener("click", () => leave("/auth/logout"));
  begin();
  if (!location.pathname.endsWith("/notifications")) countUnread();
  follow({
    hear(told) {
      if (told.type === "notification") setUnread(unread + 1);
      hear(told);
    },
    connected,
    over: () => location.reload(),
  });
}

export function showSelf() {
  const user = current()?.user;
  if (!user) return;
  showFace(byId("my-face"), user);
  byId("my-name").textContent = nameOf(user);
  byId("my-handle").textContent = `@${user.username}`;
  byId("own").href = pathOf(user.username);
  const isHere = location.pathname.startsWith(pathOf(user.username));
  if (isHere) byId("own").setAttribute("aria-current", "page");
}

/**
 * Logs out: here, or everywhere.
 * @param {string} path
 */
export async function leave(path) {
  try {
    await call("POST", path, { key: random() });
  } catch (error) {
    // A session that is over already is what was wanted.
    if (current()) return say(told(error));
  }
  forget();
  location.assign("/sns");
}

function letIn() {
  const logIn = document.getElementById("log-in");
  // Somebody who has been here before logs in; anybody else makes an account first.
  if (device()) logIn?.parentElement?.prepend(logIn);
  for (const [id, path] of [["log-in", "/auth/login"], ["register", "/auth/register"]]) {
    const form = /** @type {any} */ (document.getElementById(id));
    if (!form) continue;
    onSend(form, async (values) => {
      keep(await call("POST", path, { body: { ...values, deviceToken: device() } }));
      location.reload();
    });
  }
}

async function countUnread() {
  try {
    const { notifications } = await call("GET", `/notifications?limit=${MANY}`);
    setUnread(notifications.filter((/** @type {any} */ note) => !note.isRead).length);
  } catch {
    // The next page counts again.
  }
}

/** @param {number} count */
export function setUnread(count) {
  unread = count;
  byId("unread").hidden = count === 0;
  fill(byId("unread"), { unread: count >= MANY ? `${MANY}+` : count });
}
