// Every page of the live room in both languages and themes, from a phone to a projector: nothing
// keeps anybody out, and nothing is wider than the screen. The pictures are to be looked at.

import { everyLook, judge, namesItsButtons } from "./appearance.mjs";
import { PROJECTOR, isDeep, play, url } from "./browser.mjs";
import { isHalfWay } from "./wall.mjs";

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
  const isHost = (context) => context.addInitScript((id) => localStorage.setItem("nagaya.live.host", id), hostId);
  const wall = {
    name: "wall", path: `/live/wall/${room.roomId}?join=1`, sign: ".fly", state: "attached",
    act: isHalfWay, rimmed: ".fly",
  };
  const list = { name: "list", path: `/live/wall/${room.roomId}?list=1`, sign: "#comments li" };
  await everyLook([
    { name: "start", path: "/live", sign: "#rooms li", enter: isHost },
    { name: "room", path: `/live/r/${room.code}`, sign: "#viewers:not(:empty)" },
    { name: "host", path: `/live/host/${room.roomId}`, sign: "#desk:not([hidden]) #comments li", check: namesItsButtons },
    wall,
    list,
    { name: "gone", path: "/live/r/000000", sign: "main", refused: [404] },
  ]);
  // The wall is for a projector, and has one look in both themes.
  for (const lang of isDeep ? ["ja", "en"] : ["ja"]) {
    await judge([wall, list], { lang, theme: "light", viewport: PROJECTOR });
  }
});
