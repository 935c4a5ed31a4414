// @ts-check
// Who follows, and who likes what.

import { byId, copy, fill, given } from "./kit/dom.js";
import { showTime } from "./kit/times.js";
import { call } from "./api.js";
import { open, setUnread } from "./frame.js";
import { Parts, showUser } from "./parts.js";

/** Notifications that stand there. */
const known = new Set();

/**
 * @param {any} note
 * @param {boolean} isNew whether it came just now, and stands first
 */
function put(note, isNew) {
  if (known.has(note.notificationId)) return;
  known.add(note.notificationId);
  const item = copy("note");
  const isLike = note.kind === "like";
  showUser(item, note.actor);
  fill(item, { did: isLike ? given.said.likedYours : given.said.followedYou });
  item.classList.toggle("is-new", !note.isRead);
  showTime(/** @type {any} */ (item.querySelector("time")), note.createdAt);
  if (isLike) quote(item, note.postId);
  byId("list").insertBefore(item, isNew ? byId("list").firstChild : null);
  byId("empty").hidden = true;
}

/** Posts that are asked for together, with the places where they are shown. */
/** @type {Map<string, HTMLElement[]>} */
const wanted = new Map();

/**
 * Shows which post was liked, as a part of the notification.
 * @param {HTMLElement} item
 * @param {string} postId
 */
function quote(item, postId) {
  const link = /** @type {HTMLAnchorElement} */ (item.querySelector('[data-to="post"]'));
  link.href = `/sns/p/${postId}`;
  if (wanted.size === 0) queueMicrotask(fetchQuotes);
  wanted.set(postId, [...(wanted.get(postId) ?? []), link]);
}

async function fetchQuotes() {
  const places = new Map(wanted);
  wanted.clear();
  try {
    const { posts } = await call("POST", "/posts/batch", { body: { postIds: [...places.keys()] } });
    for (const { postId, content } of posts) {
      for (const link of places.get(postId) ?? []) {
        link.textContent = content;
        link.hidden = false;
      }
    }
  } catch {
    // The notification tells enough.
  }
}

async function read() {
  try {
    await call("POST", "/notifications/read");
    setUnread(0);
  } catch {
    // They are new once more.
  }
}

open({
  async begin() {
    const parts = new Parts("/notifications", (part) => {
      for (const note of part.notifications) put(note, false);
    });
    await parts.load();
    await read();
  },
  hear(told) {
    if (told.type !== "notification") return;
    put(told.data, true);
    read();
  },
});
