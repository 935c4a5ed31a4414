// Every page of the sns room in both languages and themes, from a phone to a projector: nothing
// keeps anybody out, and nothing is wider than the screen. The pictures are to be looked at.

import assert from "node:assert/strict";
import { isAccessible, person, picture, play, url, visit } from "./browser.mjs";

const SIZES = {
  375: { width: 375, height: 812 },
  768: { width: 768, height: 1024 },
  1440: { width: 1440, height: 900 },
  1920: { width: 1920, height: 1080 },
};
/** Every language in every width, and every theme with each of them. */
const LOOKS = [
  ["ja", 375, "light"],
  ["ja", 1440, "dark"],
  ["en", 375, "dark"],
  ["en", 1440, "light"],
];
/** Widths between and beyond, for one page. */
const OTHER_LOOKS = [
  ["ja", 768, "dark"],
  ["en", 1920, "light"],
];
const PEOPLE = [
  ["hanako", "長屋の花子", "三軒目に住んでいます。\n朝顔を育てています🌱"],
  ["ada", "Ada Lovelace", "Engines, mostly."],
  ["dana", "דנה", "שלום"],
  ["an-unusually-long-name-of-exactly-fifty-letters-12", "", "x".repeat(160)],
];
const SAID = [
  "朝顔がようやく咲きました。今年は少し遅かったけれど、いい色です。",
  "The engine weaves algebraical patterns just as the loom weaves flowers and leaves.",
  "שלום לכולם, מה שלומכם היום?",
  `https://example.org/${"a".repeat(150)}`,
  "お醤油をきらしました。どなたか少し分けてください🙏\nお礼に煮物をお持ちします。",
];

async function calls(method, path, body, token) {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const answer = await fetch(`${url}/sns/v1${path}`, { method, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.status === 204 ? undefined : answer.json();
}

/** People who follow each other, speak and like. */
async function furnish() {
  const people = [];
  for (const [username, displayName, bio] of PEOPLE) {
    const email = `${people.length}@example.org`;
    const session = await calls("POST", "/auth/register", { email, username, password: "correct horse" });
    await calls("PUT", "/users/me", { displayName, bio }, session.token);
    people.push(session);
  }
  const [first] = people;
  for (const { token, user } of people) {
    for (const other of people) {
      if (other.user.userId !== user.userId) await calls("POST", `/users/${other.user.userId}/follow`, {}, token);
    }
  }
  const posts = [];
  for (const [at, content] of SAID.entries()) {
    posts.push(await calls("POST", "/posts", { content }, people[at % people.length].token));
  }
  for (const { postId } of posts.filter(({ userId }) => userId === first.user.userId)) {
    for (const { token } of people) await calls("POST", `/posts/${postId}/likes`, {}, token);
  }
  return { first: await calls("POST", "/auth/refresh", { refreshToken: first.refreshToken }), post: posts[0] };
}

/** Looks at a page as `first`, or at the way in as nobody. */
async function looks(first, name, [path, sign, ...refused], [lang, size, theme]) {
  const context = await person(SIZES[size], { lang, theme });
  if (name !== "entry") {
    const kept = JSON.stringify(first);
    await context.addInitScript((kept) => localStorage.setItem("nagaya.sns", kept), kept);
  }
  const page = await visit(context, path, ...refused);
  await page.waitForSelector(sign);
  if (name === "own") await page.click("#settings summary");
  const called = `sns-${name}-${lang}-${size}-${theme}`;
  await isAccessible(page, called);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${called} is ${wide} pixels too wide`);
  await picture(page, called);
  await context.close();
}

await play(async () => {
  const { first, post } = await furnish();
  const pages = {
    entry: ["/sns", "#entry"],
    home: ["/sns", "#list > li:nth-child(5)"],
    notes: ["/sns/notifications", ".note .quote:not([hidden])"],
    own: ["/sns/u/hanako", "#settings"],
    people: ["/sns/u/hanako/following", "#list > li:nth-child(3)"],
    post: [`/sns/p/${post.postId}`, "#likers .person"],
    user: ["/sns/u/ada", "#list > li"],
    nothing: ["/sns/find?username=%20", ".welcome", 404],
  };
  for (const look of LOOKS) {
    for (const [name, page] of Object.entries(pages)) await looks(first, name, page, look);
  }
  for (const look of OTHER_LOOKS) await looks(first, "home", pages.home, look);
  const plain = await visit(await person(SIZES[375], { javaScriptEnabled: false }), "/sns");
  await plain.getByText("JavaScript が必要です").waitFor();
});
