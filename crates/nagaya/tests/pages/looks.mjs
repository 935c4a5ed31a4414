// Every page in both languages and both themes: nothing keeps anybody out. The pictures are to be
// looked at.

import { LAPTOP, PHONE, PROJECTOR, isAccessible, person, picture, play, url, visit } from "./browser.mjs";

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

await play(async () => {
  const room = await furnish();
  const pages = {
    start: ["/live", LAPTOP, "#rooms li"],
    room: [`/live/r/${room.code}`, PHONE, "#viewers:not(:empty)"],
    host: [`/live/host/${room.roomId}`, LAPTOP, "#desk:not([hidden]) li"],
    wall: [`/live/wall/${room.roomId}?join=1`, PROJECTOR, ".fly"],
    list: [`/live/wall/${room.roomId}?list=1`, PROJECTOR, "#comments li"],
  };
  for (const lang of ["ja", "en"]) {
    for (const theme of ["light", "dark"]) {
      const context = await person(LAPTOP, { lang, theme });
      await context.addInitScript((id) => localStorage.setItem("nagaya.live.host", id), hostId);
      for (const [name, [path, viewport, sign]] of Object.entries(pages)) {
        // The wall has one look in both themes.
        if (theme === "dark" && path.startsWith("/live/wall/")) continue;
        const page = await visit(context, path);
        await page.setViewportSize(viewport);
        await page.waitForSelector(sign, { state: "attached" });
        const called = `${name}-${lang}-${theme}`;
        await isAccessible(page, called);
        await picture(page, called);
        await page.close();
      }
      await context.close();
    }
  }
});
