// @ts-check
// One post, and who likes it.

import { byId, given } from "./kit/dom.js";
import { Refused, call, told } from "./api.js";
import { open, say } from "./frame.js";
import { Parts } from "./parts.js";
import { putUser } from "./people.js";
import { Posts } from "./posts.js";

const posts = new Posts(byId("post-here"));

async function begin() {
  try {
    posts.put(await call("GET", `/posts/${given.postId}`));
  } catch (error) {
    if (!(error instanceof Refused && error.status === 404)) return say(told(error));
    byId("gone").hidden = false;
    return;
  }
  byId("likers").hidden = false;
  const parts = new Parts(`/posts/${given.postId}/likes`, ({ users }) => {
    for (const user of users) putUser(user);
  });
  parts.load();
}

/** @param {any} told */
function hear(told) {
  if (told.postId !== given.postId) return;
  posts.hear(told);
  if (told.type !== "postDeleted") return;
  byId("gone").hidden = false;
  byId("likers").hidden = true;
}

open({ begin, hear });
