// @ts-check
// What users and lists look like wherever they stand.

import { byId, fill } from "./kit/dom.js";
import { call, told } from "./api.js";

/** The next part is fetched when the end of a list is so near. */
const NEAR = "800px";

/** @param {{ username: string, displayName: string }} user */
export const nameOf = ({ username, displayName }) => displayName || username;

/** @param {string} username */
export const pathOf = (username) => `/sns/u/${username}`;

/**
 * Shows a user's first letter in a colour of its own.
 * @param {HTMLElement} face
 * @param {{ userId: string, username: string, displayName: string }} user
 */
export function showFace(face, user) {
  face.textContent = [...nameOf(user)][0]?.toUpperCase() ?? "";
  const hue = [...user.userId].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 360, 7);
  face.style.setProperty("--hue", String(hue));
}

/**
 * Shows a user in a copy of a template.
 * @param {HTMLElement} item
 * @param {{ userId: string, username: string, displayName: string }} user
 */
export function showUser(item, user) {
  fill(item, { name: nameOf(user), handle: `@${user.username}` });
  showFace(/** @type {any} */ (item.querySelector(".face")), user);
  for (const link of /** @type {any} */ (item.querySelectorAll('[data-to="user"]'))) {
    link.href = pathOf(user.username);
  }
}

/** A list that is read in parts: when its end comes near, and when somebody asks. */
export class Parts {
  #next = "";
  #runs = false;
  #isStale = false;

  /**
   * @param {string} path
   * @param {(part: any, isFirst: boolean) => void} show
   */
  constructor(path, show) {
    this.path = path;
    this.show = show;
    this.more = byId("more");
    this.more.addEventListener("click", () => this.load());
    const look = (/** @type {IntersectionObserverEntry[]} */ seen) => {
      if (seen.some(({ isIntersecting }) => isIntersecting)) this.load();
    };
    this.observer = new IntersectionObserver(look, { rootMargin: NEAR });
    this.observer.observe(this.more);
  }

  /** Reads the first part, or the next one. */
  async load() {
    if (this.#runs) return;
    this.#runs = true;
    try {
      const from = this.#next && `?cursor=${encodeURIComponent(this.#next)}`;
      const part = await call("GET", this.path + from);
      this.show(part, !from);
      this.#next = part.next ?? "";
      this.more.hidden = !part.next;
      byId("problem").textContent = "";
      // An observer tells of changes alone: an end that is near before and after is looked at anew.
      this.observer.unobserve(this.more);
      this.observer.observe(this.more);
    } catch (error) {
      byId("problem").textContent = told(error);
      this.more.hidden = false;
    } finally {
      this.#runs = false;
      byId("empty").hidden = byId("list").childElementCount > 0;
    }
    if (this.#isStale) this.reload();
  }

  /** Begins again. */
  reload() {
    this.#isStale = this.#runs;
    if (this.#runs) return;
    this.#next = "";
    this.load();
  }
}
