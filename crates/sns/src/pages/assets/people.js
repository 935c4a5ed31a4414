// @ts-check
// Users, and the button that follows them.

import { byId, copy, fill, given } from "./kit/dom.js";
import { call, random, told } from "./api.js";
import { say } from "./frame.js";
import { showUser } from "./parts.js";
import { current } from "./session.js";

/**
 * Shows a user at the end of the list.
 * @param {any} user
 */
export function putUser(user) {
  const item = copy("person");
  showUser(item, user);
  fill(item, { bio: user.bio });
  const button = /** @type {HTMLButtonElement} */ (item.querySelector(".follow"));
  button.hidden = user.userId === current()?.user.userId;
  followBy(button, user);
  byId("list").append(item);
}

/**
 * Lets a button follow a user, and no more.
 * @param {HTMLButtonElement} button
 * @param {{ userId: string, isFollowing: boolean }} user
 * @param {(is: boolean) => void} [then]
 */
export function followBy(button, user, then = () => {}) {
  let is = user.isFollowing;
  function show() {
    button.setAttribute("aria-pressed", String(is));
    button.textContent = is ? given.said.following : given.said.follow;
  }
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await call(is ? "DELETE" : "POST", `/users/${user.userId}/follow`, { key: random() });
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
