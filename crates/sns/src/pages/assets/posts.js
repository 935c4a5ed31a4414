// @ts-check
// A list of posts. The page is the state; a post that is told twice stands there once.

import { copy, fill, given } from "./kit/dom.js";
import { showTime } from "./kit/times.js";
import { call, told } from "./api.js";
import { ask } from "./ask.js";
import { say } from "./frame.js";
import { showUser } from "./parts.js";
import { current } from "./session.js";

export class Posts {
  /** @type {Map<string, HTMLElement>} */
  #items = new Map();

  /** @param {HTMLElement} list */
  constructor(list) {
    this.list = list;
  }

  /**
   * Takes what was told, if it is about a post of the list.
   * @param {any} told
   */
  hear(told) {
    const item = this.#items.get(told.postId);
    if (told.type === "postDeleted") this.remove(told.postId);
    if (told.type === "likesChanged" && item) fill(item, { likes: told.data.likesCount });
    if (told.type === "unfollowed") this.#removeOf(told.data.userId);
  }

  /**
   * Shows a post.
   * @param {any} post
   * @param {boolean} [sorts] whether it goes to its place by time, newest first; else to the end
   * @returns {boolean} whether it is new here
   */
  put(post, sorts = false) {
    const known = this.#items.get(post.postId);
    const item = known ?? this.#make(post);
    fill(item, { content: post.content, likes: post.likesCount });
    showUser(item, post.author);
    if (post.isLiked !== undefined) setPressed(heart(item), post.isLiked);
    if (known) return false;
    const place = post.createdAt + post.postId;
    item.dataset.place = place;
    this.list.insertBefore(item, sorts ? this.#behind(place) : null);
    this.#items.set(post.postId, item);
    return true;
  }

  /** Ids of all that stand there. */
  ids() {
    return new Set(this.#items.keys());
  }

  /** @param {string} id */
  remove(id) {
    this.#items.get(id)?.remove();
    this.#items.delete(id);
    const empty = document.getElementById("empty");
    if (empty && this.#items.size === 0) empty.hidden = false;
  }

  /** @param {string} userId */
  #removeOf(userId) {
    for (const [id, item] of this.#items) if (item.dataset.author === userId) this.remove(id);
  }

  /** @param {any} post */
  #make(post) {
    const item = copy("post");
    item.dataset.author = post.userId;
    item.dataset.id = post.postId;
    showTime(/** @type {any} */ (item.querySelector("time")), post.createdAt);
    for (const link of /** @type {any} */ (item.querySelectorAll('[data-to="post"]'))) {
      link.href = `/sns/p/${post.postId}`;
    }
    heart(item).addEventListener("click", () => like(post.postId, item));
    const bin = /** @type {any} */ (item.querySelector(".delete"));
    bin.hidden = post.userId !== current()?.user.userId;
    bin.addEventListener("click", () => this.#delete(post.postId));
    return item;
  }

  /** @param {string} id */
  async #delete(id) {
    if (!(await ask(given.said.askPost))) return;
    try {
      await call("DELETE", `/posts/${id}`);
      this.remove(id);
      say(given.said.deleted);
    } catch (error) {
      say(told(error));
    }
  }

  /**
   * The post before which one stands: the first older one.
   * @param {string} place
   */
  #behind(place) {
    let next = /** @type {any} */ (this.list.firstElementChild);
    while (next && next.dataset.place > place) next = next.nextElementSibling;
    return next;
  }
}

/** @param {HTMLElement} item */
const heart = (item) => /** @type {HTMLButtonElement} */ (item.querySelector(".like"));

/**
 * @param {HTMLElement} button
 * @param {boolean} is
 */
const setPressed = (button, is) => button.setAttribute("aria-pressed", String(is));

/**
 * Likes a post, or no more.
 * @param {string} id
 * @param {HTMLElement} item
 */
async function like(id, item) {
  const button = heart(item);
  const wants = button.getAttribute("aria-pressed") !== "true";
  button.disabled = true;
  try {
    await call(wants ? "POST" : "DELETE", `/posts/${id}/likes`);
    setPressed(button, wants);
    const { likesCount } = await call("GET", `/posts/${id}`);
    fill(item, { likes: likesCount });
  } catch (error) {
    say(told(error));
  } finally {
    button.disabled = false;
    button.focus();
  }
}
