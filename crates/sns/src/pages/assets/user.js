// @ts-check
// A user, one of its lists, and what it may change about itself.

import { byId, fill, given } from "./kit/dom.js";
import { Refused, call, told } from "./api.js";
import { ask } from "./ask.js";
import { leave, onSend, open, say, showSelf } from "./frame.js";
import { Parts, nameOf, pathOf, showFace } from "./parts.js";
import { actBy, putUser } from "./people.js";
import { Posts } from "./posts.js";
import { current, forget, keepUser } from "./session.js";

const posts = new Posts(byId("list"));
const profile = byId("profile");
/** Who it is, and how many there are in its lists: names in the list itself are others'. */
const head = profile.querySelector("header");
const tabs = profile.querySelector("nav");
const day = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "long" });

async function begin() {
  let user;
  try {
    user = await call("GET", `/users/by/username/${given.username}`);
  } catch (error) {
    if (!(error instanceof Refused && error.status === 404)) return say(told(error));
    profile.hidden = true;
    byId("nobody").hidden = false;
    return;
  }
  show(user);
  if (user.userId === current()?.user.userId) settle(user);
  else showActs(user);
  const isPosts = given.list === "posts" || given.list === "likes";
  const act = given.list === "blocks" ? "block" : given.list === "mutes" ? "mute" : "follow";
  const put = (/** @type {any} */ one) => (isPosts ? posts.put(one) : putUser(one, act));
  const parts = new Parts(`/users/${user.userId}/${given.list}`, (part) => {
    for (const one of isPosts ? part.posts : part.users) put(one);
  });
  parts.load();
}

/** @param {any} user */
function show(user) {
  const { postsCount, likesCount, followersCount, followingCount, bio, username } = user;
  fill(head, { name: nameOf(user), handle: `@${username}`, bio });
  fill(tabs, { posts: postsCount, likes: likesCount });
  fill(tabs, { followers: followersCount, following: followingCount });
  showFace(byId("face"), user);
  const since = head.querySelector("time");
  since.dateTime = user.createdAt;
  since.textContent = day.format(new Date(user.createdAt));
}

/**
 * Shows what may be done to somebody else. Nobody follows whom it blocks, and what is listed of the
 * other is another list then.
 * @param {any} user
 */
function showActs(user) {
  const button = byId("follow");
  button.hidden = user.isBlocked;
  let followers = user.followersCount;
  const then = (/** @type {boolean} */ is) => {
    followers += is ? 1 : -1;
    fill(tabs, { followers });
  };
  actBy(button, user, "follow", { then });
  byId("averse").hidden = false;
  actBy(byId("mute"), user, "mute");
  actBy(byId("block"), user, "block", { then: () => location.reload() });
}

/**
 * Shows what only the user itself may do.
 * @param {any} user
 */
function settle(user) {
  byId("settings").hidden = false;
  byId("display-name").value = user.displayName;
  byId("username").value = user.username;
  byId("bio").value = user.bio;
  onSend(byId("change"), async (values) => {
    const changed = await call("PUT", "/users/me", { body: values });
    keepUser(changed);
    say(given.said.saved);
    // The address is made of the name.
    if (changed.username !== given.username) return location.replace(pathOf(changed.username));
    show(changed);
    showSelf();
  });
  onSend(byId("password"), async (values) => {
    await call("PUT", "/auth/password", { body: values });
    byId("password").reset();
    say(given.said.saved);
  });
  byId("leave-here").addEventListener("click", () => leave("/auth/logout"));
  byId("leave-all").addEventListener("click", () => leave("/auth/logout-all"));
  byId("delete-account").addEventListener("click", remove);
}

async function remove() {
  if (!(await ask(given.said.askAccount))) return;
  try {
    await call("DELETE", "/users/me");
    forget();
    location.assign("/sns");
  } catch (error) {
    say(told(error));
  }
}

open({
  begin,
  // Whoever is not followed any more still has a page.
  hear: (told) => told.type !== "unfollowed" && posts.hear(told),
});
