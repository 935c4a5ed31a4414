// A play with the client of examples/score-game, over TLS.

import assert from "node:assert/strict";
import { moveClock } from "../control.mjs";

const { NAGAYA_ROOT: root, NAGAYA_URL: url } = process.env;
const { Score, ScoreError } = await import(`${root}/examples/score-game/client.js`);
const client = new Score({ url, gameId: "akari", userId: "hanako" });

const started = await fetch(`${url}/score/get-start`);
const cookie = /^game_sid=[A-Za-z0-9]{24}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=1800; Secure$/;
assert.match(started.headers.get("set-cookie"), cookie);

assert.equal(await client.rank(), undefined);
const play = await client.begin();
await moveClock(1_000);
const stored = await play.submit({ score: 50, timeMs: 900, player: "長屋の花子", meta: { 面: 1 } });
assert.deepEqual([stored.updated, stored.rank], [true, 1]);
const again = await play.submit({ score: 60, timeMs: 900, player: "長屋の花子" }).catch((error) => error);
assert.ok(again instanceof ScoreError);
assert.deepEqual([again.status, again.code], [409, "session_spent"]);
const rows = await client.ranking();
assert.deepEqual(rows, [{ userId: "hanako", userName: "長屋の花子", score: 50, timeMs: 900, rank: 1 }]);
assert.equal((await client.rank()).rank.ordinal, 1);
const fast = await client.begin();
await moveClock(10);
const refused = await fast.submit({ score: 1_999, timeMs: 1, player: "速い" }).catch((error) => error);
assert.deepEqual([refused.status, refused.code], [403, "score_too_fast"]);

// What is in the way passes: the network is away, the house is busy, an earlier try still runs. The
// client comes again with the same key until it is stored.
const ask = globalThis.fetch;
const keys = [];
const ways = [
  () => Promise.reject(new TypeError("fetch failed")),
  () => Response.json({ code: "rate_limited" }, { status: 429, headers: { "retry-after": "0" } }),
  () => new Response("<html>", { status: 502 }),
  () => new Response('{"updated": tr', { status: 200 }),
  () => Response.json({ code: "idempotency_in_flight" }, { status: 409 }),
];
globalThis.fetch = async (address, how) => {
  if (how?.method !== "PUT") return ask(address, how);
  keys.push(how.headers["x-idem-key"]);
  const inTheWay = ways[keys.length - 1];
  return inTheWay ? inTheWay() : ask(address, how);
};
const slow = await client.begin();
await moveClock(1_000);
const waited = await slow.submit({ score: 51, timeMs: 900, player: "長屋の花子" });
assert.deepEqual([waited.updated, waited.score, keys.length], [true, 51, ways.length + 1]);
assert.equal(new Set(keys).size, 1);

// A page that is left while it sends finds its play when it is opened again, with its player.
const { storage } = client;
globalThis.fetch = (address, how) => (how?.method === "PUT" ? new Promise(() => {}) : ask(address, how));
const left = await client.begin();
await moveClock(1_000);
const sent = new Promise((resolve) => {
  const { setItem } = storage;
  storage.setItem = (name, value) => {
    setItem.call(storage, name, value);
    if (value.includes("tokenEnd")) resolve();
  };
});
left.submit({ score: 52, timeMs: 900, player: "長屋の花子" });
await sent;
globalThis.fetch = ask;
const reopened = new Score({ url, gameId: "akari", userId: "hanako", storage });
const resumed = await reopened.resume();
assert.deepEqual(resumed.map(({ played, stored }) => [played.score, stored.score]), [[52, 52]]);
assert.deepEqual(await reopened.resume(), [], "it is stored");

// The id is hers: a browser without her secret cannot play under it.
const other = new Score({ url, gameId: "akari", userId: "hanako" });
const stranger = await other.begin().catch((error) => error);
assert.deepEqual([stranger.status, stranger.code], [403, "player_secret_invalid"]);
const seedlike = new Score({ url, gameId: "akari", userId: "hanako", claims: false });
assert.equal((await seedlike.begin().catch((error) => error)).code, "player_secret_invalid");
// A client of the seed's form plays as before, and nobody takes its id away.
const plain = new Score({ url, gameId: "akari", userId: "taro", claims: false });
const first = await plain.begin();
await moveClock(1_000);
assert.equal((await first.submit({ score: 5, timeMs: 900, player: "太郎" })).updated, true);
const later = new Score({ url, gameId: "akari", userId: "taro" });
await later.begin();
assert.equal(later.claims, false);

// A class of thirty behind one address, under default settings, in the same second.
const pupils = Array.from({ length: 30 }, (_, number) => new Score({ url, gameId: "akari", userId: `pupil-${number}` }));
const plays = await Promise.all(pupils.map((pupil) => pupil.begin()));
await moveClock(1_000);
await Promise.all(plays.map((one, number) => one.submit({ score: number, timeMs: 900, player: `生徒${number}` })));
const everybody = (await client.ranking("ALL", 100)).map(({ userId }) => userId);
assert.equal(everybody.filter((userId) => userId.startsWith("pupil-")).length, 30);
console.log("submitted");
