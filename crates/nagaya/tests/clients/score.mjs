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

// While a submission runs, the house asks to wait; the client comes again with the same key.
const ask = globalThis.fetch;
const keys = [];
globalThis.fetch = async (address, how) => {
  if (how?.method !== "PUT") return ask(address, how);
  keys.push(how.headers["x-idem-key"]);
  const running = { status: 409, code: "idempotency_in_flight" };
  return keys.length === 1 ? Response.json(running, { status: 409 }) : ask(address, how);
};
const slow = await client.begin();
await moveClock(1_000);
const waited = await slow.submit({ score: 51, timeMs: 900, player: "長屋の花子" });
assert.deepEqual([waited.updated, waited.score, keys.length], [true, 51, 2]);
assert.equal(keys[0], keys[1]);
console.log("submitted");
