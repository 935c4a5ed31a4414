// A play with the client of examples/score-game, over TLS.

import assert from "node:assert/strict";

const { NAGAYA_ROOT: root, NAGAYA_URL: url } = process.env;
const { Score, ScoreError } = await import(`${root}/examples/score-game/client.js`);
const client = new Score({ url, gameId: "akari", userId: "hanako" });

const started = await fetch(`${url}/score/get-start`);
const cookie = /^game_sid=[A-Za-z0-9]{24}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=1800; Secure$/;
assert.match(started.headers.get("set-cookie"), cookie);

assert.equal(await client.rank(), undefined);
const play = await client.begin();
await new Promise((resolve) => setTimeout(resolve, 1_000));
const stored = await play.submit({ score: 50, timeMs: 900, player: "長屋の花子", meta: { 面: 1 } });
assert.deepEqual([stored.updated, stored.rank], [true, 1]);
const again = await play.submit({ score: 60, timeMs: 900, player: "長屋の花子" }).catch((error) => error);
assert.ok(again instanceof ScoreError);
assert.deepEqual([again.status, again.code], [409, "session_spent"]);
const rows = await client.ranking();
assert.deepEqual(rows, [{ userId: "hanako", userName: "長屋の花子", score: 50, timeMs: 900, rank: 1 }]);
assert.equal((await client.rank()).rank.ordinal, 1);
const fast = await client.begin();
const refused = await fast.submit({ score: 1_999, timeMs: 1, player: "速い" }).catch((error) => error);
assert.deepEqual([refused.status, refused.code], [403, "score_too_fast"]);
console.log("submitted");
