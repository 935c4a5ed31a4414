// @ts-check
// Users, and the buttons that follow, block and mute them.

import { byId, copy, fill, given } from "./kit/dom.js";
import { call, random, told } from "./api.js";
import { say } from "./frame.js";
import { nameOf, showUser } from "./parts.js";
import { current } from "./session.js";

/** What a button does to a user: how it is asked for, how a profile tells it, and the words. */
const ACTS = {
  follow: { method: "POST", told: "isFollowing", off: given.said.follow, on: given.said.following },
  block: { method: "PUT", told: "isBlocked", off: given.said.block, on: given.said.blocked },
  mute: { method: "PUT", told: "isMuted", off: given.said.mute, on: given.said.muted },
};

/**
 * Shows a user at the end of the list.
 * @param {any} user
 * @param {keyof typeof ACTS} [act] what the button beside it does
 */
export function putUser(user, act = "follow") {
  const item = copy("person");
  showUser(item, user);
  fill(item, { bio: user.bio });
  const button = /** @type {HTMLButtonElement} */ (item.querySelector(".follow"));
  button.hidden = user.userId === current()?.user.userId;
  button.classList.toggle("follow", act === "follow");
  // A list has a button for each: its name says whose it is.
  actBy(button, user, act, { name: nameOf(user) });
  byId("list").append(item);
}

/**
 * Lets a button follow, block or mute a user, and no more. `name` tells readers of screens whose
 * button it is.
 * @param {HTMLButtonElement} button
 * @param {any} user
 * @param {keyof typeof ACTS} act
 * @param {{ name?: string, then?: (is: boolean) => void }} [more]
 */
export function actBy(button, user, act, { name: whose, then = () => {} } = {}) {
  const { method, told: name, off, on } = ACTS[act];
  let is = user[name];
  function show() {
    button.setAttribute("aria-pressed", String(is));
    button.textContent = is ? on : off;
    if (whose) button.setAttribute("aria-label", `${button.textContent}: ${whose}`);
  }
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await call(is ? "DELETE" : method, `/users/${user.userId}/${act}`, { key: random() });
      is = !is;
      show();
      then(is);
    } catch (error) {
      say(told(error));
    } finally {
      button.disabled = false;
      button.focus();
    }
  });
  show();
}
