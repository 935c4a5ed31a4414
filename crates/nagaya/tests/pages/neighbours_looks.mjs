// Every page of the sns room in both languages and themes, from a phone to a projector: nothing
// keeps anybody out, and nothing is wider than the screen. The pictures are to be looked at.

import { everyLook, judge, namesItsButtons } from "./appearance.mjs";
import { PROJECTOR, SMALL, isDeep, person, play, url, visit } from "./browser.mjs";

/** Widths between and beyond, for one page. */
const OTHER_LOOKS = [
  { lang: "ja", viewport: { width: 768, height: 1024 }, theme: "dark" },
  { lang: "en", viewport: PROJECTOR, theme: "light" },
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
  const apart = { email: "apart@example.org", username: "apart", password: "correct horse" };
  const { user } = await calls("POST", "/auth/register", apart);
  for (const act of ["mute", "block"]) await calls("PUT", `/users/${user.userId}/${act}`, {}, first.token);
  const posts = [];
  for (const [at, content] of SAID.entries()) {
    posts.push(await calls("POST", "/posts", { content }, people[at % people.length].token));
  }
  for (const { postId } of posts.filter(({ userId }) => userId === first.user.userId)) {
    for (const { token } of people) await calls("POST", `/posts/${postId}/likes`, {}, token);
  }
  return { first: await calls("POST", "/auth/refresh", { refreshToken: first.refreshToken }), post: posts[0] };
}

await play(async () => {
  const { first, post } = await furnish();
  const kept = JSON.stringify(first);
  const isFirst = (context) => context.addInitScript((kept) => localStorage.setItem("nagaya.sns", kept), kept);
  const home = { name: "sns-home", path: "/sns", sign: "#list > li:nth-child(5)", enter: isFirst };
  await everyLook([
    { name: "sns-entry", path: "/sns", sign: "#entry" },
    home,
    { name: "sns-notes", path: "/sns/notifications", sign: ".note .quote:not([hidden])" },
    { name: "sns-own", path: "/sns/u/hanako", sign: "#settings", act: (page) => page.click("#settings summary") },
    { name: "sns-people", path: "/sns/u/hanako/following", sign: "#list > li:nth-child(3)", check: namesItsButtons },
    { name: "sns-mutes", path: "/sns/u/hanako/mutes", sign: "#list > li" },
    { name: "sns-blocked", path: "/sns/u/apart", sign: '#block[aria-pressed="true"]' },
    { name: "sns-post", path: `/sns/p/${post.postId}`, sign: "#likers .person" },
    { name: "sns-user", path: "/sns/u/ada", sign: "#list > li" },
    { name: "sns-nothing", path: "/sns/find?username=%20", sign: ".welcome", refused: [404] },
  ]);
  if (isDeep) for (const look of OTHER_LOOKS) await judge([home], look);
  const plain = await visit(await person(SMALL, { javaScriptEnabled: false }), "/sns");
  await plain.getByText("JavaScript が必要です").waitFor();
});
