// Every page of the live room in both languages and themes, from a phone to a projector: nothing
// keeps anybody out, and nothing is wider than the screen. The pictures are to be looked at.

import { PROJECTOR, fits, isAccessible, person, picture, play, url, visit } from "./browser.mjs";

const DESKTOP = { width: 1440, height: 900 };
const SMALL = { width: 375, height: 812 };
const hostId = "5f1d7a84c9b04b1f8f0f7d2b3a6c9e10";

async function post(path, body) {
  const headers = { authorization: `Bearer ${hostId}` };
  const answer = await fetch(`${url}/live/rooms${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

async function furnish() {
  const room = await post("", { name: "Rust で作る長屋 — リアルタイムの楽しみ", hostId });
  const said = [
    ["はじめまして!楽しみにしています 🎉", "花子"],
    ["How do the lanes decide where a comment flies?", "Ada"],
    ["所有権と非同期の相性について、もう少し詳しく聞きたいです。とくに実行時間の長い処理の扱い方を知りたいです。", "太郎"],
    ["88888888"],
    ["שלום עולם", "דנה"],
    ["👏👏👏", "Ben"],
    ["なるほど〜"],
  ];
  const ids = [];
  for (const [content, nickname] of said) {
    ids.push((await post(`/${room.roomId}/comments`, { content, nickname })).commentId);
  }
  await post(`/${room.roomId}/comments/${ids[1]}/pin`, {});
  await post(`/${room.roomId}/comments/${ids[0]}/answer`, {});
  await post(`/${room.roomId}/comments/${ids[3]}/hide`, {});
  return room;
}

/** Every language in every width, and every theme with each of them. */
const LOOKS = [
  ["ja", SMALL, "light"],
  ["ja", DESKTOP, "dark"],
  ["en", SMALL, "dark"],
  ["en", DESKTOP, "light"],
];

await play(async () => {
  const room = await furnish();
  const pages = {
    start: ["/live", "#rooms li"],
    room: [`/live/r/${room.code}`, "#viewers:not(:empty)"],
    host: [`/live/host/${room.roomId}`, "#desk:not([hidden]) li"],
    wall: [`/live/wall/${room.roomId}?join=1`, ".fly"],
    list: [`/live/wall/${room.roomId}?list=1`, "#comments li"],
    gone: ["/live/r/000000", "main", 404],
  };
  async function look(context, name, viewport, called) {
    const [path, sign, ...refused] = pages[name];
    const page = await visit(context, path, ...refused);
    await page.setViewportSize(viewport);
    await page.waitForSelector(sign, { state: "attached" });
    // Small letters have an outline that is taken for their colour; on a projector they are large.
    await isAccessible(page, called, ...(name === "wall" && viewport !== PROJECTOR ? ["color-contrast"] : []));
    await fits(page, called);
    await picture(page, called);
    await page.close();
  }
  for (const [lang, viewport, theme] of LOOKS) {
    const context = await person(viewport, { lang, theme });
    await context.addInitScript((id) => localStorage.setItem("nagaya.live.host", id), hostId);
    for (const name of Object.keys(pages)) await look(context, name, viewport, `${name}-${lang}-${theme}-${viewport.width}`);
    // The wall is for a projector, and has one look in both themes.
    if (theme === "light") for (const name of ["wall", "list"]) await look(context, name, PROJECTOR, `${name}-${lang}-${PROJECTOR.width}`);
    await context.close();
  }
});
