// @ts-check
// The timeline, which grows while it is looked at, and the form above it.

import { byId, counted, given } from "./kit/dom.js";
import { graphemes } from "./kit/text.js";
import { call, random } from "./api.js";
import { onSend, open, say } from "./frame.js";
import { Parts, pathOf, showFace } from "./parts.js";
import { Posts } from "./posts.js";
import { current } from "./session.js";

/** Characters of a post. */
const LETTERS_MAX = 280;
/** Whoever has scrolled so far is told of new posts by a button. */
const FAR = 300;

const posts = new Posts(byId("list"));
const text = byId("text");
/** @type {Parts} */
let parts;
let key = random();
let isLoaded = false;
/** Whether the list was read behind the moment from which on everything is told. */
let isFollowed = false;
let fresh = 0;
/** Whether no post of others was seen. */
let isAlone = true;
/** Posts that stood there when the list began again. */
let before = new Set();

/** @param {any} told */
function hear(told) {
  if (told.type === "ready" && (told.gap || !isFollowed)) {
    isFollowed = true;
    load();
  }
  if (told.type === "gap") load();
  if (told.type === "newPost") putNew(told.data);
  posts.hear(told);
}

/** @param {boolean} is */
function connected(is) {
  byId("away").hidden = is;
  if (!is && !isLoaded) load();
}

/** Begins the list again: what stands there now and is not told again is gone. */
function load() {
  isLoaded = true;
  before = posts.ids();
  parts.reload();
}

/**
 * @param {any} part
 * @param {boolean} isFirst
 */
function show(part, isFirst) {
  for (const post of part.posts) {
    posts.put(post, true);
    before.delete(post.postId);
  }
  if (isFirst) before.forEach((id) => posts.remove(id));
  if (part.posts.some(isOthers)) isAlone = false;
  byId("start").hidden = !isAlone;
}

/** @param {any} post */
const isOthers = (post) => post.userId !== current()?.user.userId;

/** Shows the address at which others find the user. */
function invite() {
  const user = current()?.user;
  const place = document.getElementById("own-address");
  if (!user || !place) return;
  const address = location.origin + pathOf(user.username);
  place.textContent = address;
  const button = byId("copy");
  // Only a page that came by TLS, or from this machine, may write to the clipboard.
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(address);
    say(given.said.copied);
  });
}

/** @param {any} post */
function putNew(post) {
  const isNew = posts.put(post, true);
  byId("empty").hidden = true;
  if (isOthers(post)) byId("start").hidden = true;
  if (isNew && scrollY > FAR && isOthers(post)) setFresh(fresh + 1);
}

/** @param {number} count */
function setFresh(count) {
  fresh = count;
  byId("fresh").hidden = count === 0;
  byId("fresh").textContent = counted(given.said.fresh, count);
}

/** Shows how many characters may still be typed, and lets send what is neither empty nor too long. */
function showLeft() {
  const left = LETTERS_MAX - graphemes(text.value.trim());
  byId("left").textContent = String(left);
  byId("left").classList.toggle("over", left < 0);
  byId("compose").querySelector("button").disabled = left < 0 || left === LETTERS_MAX;
}

function compose() {
  onSend(byId("compose"), async (values) => {
    putNew(await call("POST", "/posts", { body: values, key }));
    key = random();
    text.value = "";
    say(given.said.posted);
  }, showLeft);
  // The button cannot keep the focus while it is disabled.
  byId("compose").addEventListener("submit", () => text.focus());
  text.addEventListener("input", () => {
    key = random();
    showLeft();
  });
  text.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing) {
      byId("compose").requestSubmit();
    }
  });
}

open({
  begin() {
    const user = current()?.user;
    if (user) showFace(byId("compose-face"), user);
    parts = new Parts("/timeline", show);
    compose();
    invite();
    showLeft();
    byId("fresh").addEventListener("click", () => scrollTo({ top: 0 }));
    addEventListener("scroll", () => scrollY <= FAR && fresh > 0 && setFresh(0), { passive: true });
  },
  hear,
  connected,
});
