// @ts-check
// The list of comments: what the server rendered, and what is told later. The page is the state; a
// comment that is told twice stands there once.

import { byId, copy, fill, given } from "./kit/dom.js";
import { showTime, showTimes } from "./kit/times.js";

const MARKS = { isHost: "is-host", pinned: "is-pinned", answered: "is-answered" };
const STATES = { PENDING: "is-waiting", HIDDEN: "is-hidden" };

/**
 * The name of an author as it is shown: nobody in particular has one in each language.
 * @param {string} nickname
 */
export const shownName = (nickname) => (nickname === "Anonymous" ? given.said.anonymous : nickname);

export class Log {
  /** @type {HTMLElement} */
  list = byId("comments");

  /**
   * @param {{ most?: number, keepsHidden?: boolean, changed?: (item: HTMLElement) => void }} [how]
   */
  constructor({ most = 500, keepsHidden = false, changed = () => {} } = {}) {
    this.most = most;
    this.keepsHidden = keepsHidden;
    this.changed = changed;
    /** @type {Map<string, HTMLElement>} */
    this.items = new Map();
    for (const item of /** @type {any} */ (this.list.children)) this.items.set(item.dataset.id, item);
    showTimes(this.list);
  }

  /**
   * Takes what was told, if it is about a comment.
   * @param {any} told
   * @returns {boolean} whether it was
   */
  hear(told) {
    switch (told.type) {
      case "comment":
        this.put(told.comment);
        return true;
      case "hidden":
        if (told.comment) this.put(told.comment);
        else this.hide(told.commentId);
        return true;
      case "pinned":
        this.#mark(told.commentId, "is-pinned", told.pinned);
        return true;
      case "answered":
        this.#mark(told.commentId, "is-answered", told.answered);
        return true;
      case "likes": {
        const item = this.items.get(told.commentId);
        if (item) fill(item, { likes: told.likes });
        return true;
      }
      default:
        return false;
    }
  }

  /**
   * Shows a comment, in its place by its number, newest first.
   * @param {any} comment
   */
  put(comment) {
    const known = this.items.get(comment.commentId);
    const item = known ?? copy("comment");
    const { content, likes } = comment;
    fill(item, { content, nickname: shownName(comment.nickname), likes });
    for (const [field, mark] of Object.entries(MARKS)) item.classList.toggle(mark, comment[field]);
    for (const [state, mark] of Object.entries(STATES)) {
      item.classList.toggle(mark, comment.state === state);
    }
    if (!known) {
      item.dataset.id = comment.commentId;
      item.dataset.seq = comment.seq;
      showTime(/** @type {any} */ (item.querySelector("time")), comment.createdAt);
      this.items.set(comment.commentId, item);
      this.list.insertBefore(item, this.#behind(comment.seq));
      this.#trim();
    }
    this.changed(item);
  }

  /**
   * Takes a comment away; the host sees what was.
   * @param {string} id
   */
  hide(id) {
    const item = this.items.get(id);
    if (!item) return;
    if (this.keepsHidden) {
      item.classList.remove(...Object.values(STATES), "is-pinned");
      item.classList.add("is-hidden");
    } else {
      item.remove();
      this.items.delete(id);
    }
    this.changed(item);
  }

  /**
   * Shows these comments and no others.
   * @param {any[]} comments
   */
  replace(comments) {
    this.list.replaceChildren();
    this.items.clear();
    for (const comment of comments) this.put(comment);
  }

  /**
   * @param {string} id
   * @param {string} mark
   * @param {boolean} is
   */
  #mark(id, mark, is) {
    const item = this.items.get(id);
    if (!item) return;
    item.classList.toggle(mark, is);
    this.changed(item);
  }

  /**
   * The comment before which one with this number stands: the first older one. New ones come on top,
   * so the search is short for them; from the other end it is for those of earlier pages.
   * @param {number} seq
   */
  #behind(seq) {
    const last = /** @type {any} */ (this.list.lastElementChild);
    if (last && Number(last.dataset.seq) > seq) return null;
    let next = /** @type {any} */ (this.list.firstElementChild);
    while (next && Number(next.dataset.seq) > seq) next = next.nextElementSibling;
    return next;
  }

  #trim() {
    while (this.items.size > this.most) {
      const last = /** @type {any} */ (this.list.lastElementChild);
      this.items.delete(last.dataset.id);
      last.remove();
    }
  }
}
