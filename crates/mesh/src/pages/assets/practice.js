// @ts-check
// The practice group: this page plays a host and two members with the key, as clients do. Its host is
// silent when the page is closed, and the group ends then.

import { call, Refused } from "./client.js";
import { given } from "./kit/dom.js";

const { said, domain, key, practice } = given;
const STEP_MS = 1_000;
/** Steps between two events, and between two heartbeats of everybody. */
const [EVENT_STEPS, BEAT_STEPS] = [6, 20];
/** Steps of one turn of a value, from its least to its most and back. */
const TURN_STEPS = 24;

const CREATE = "mutation ($name: String!, $host: ID!, $d: String!) { createGroup(name: $name, hostId: $host, domain: $d) { id } }";
const JOIN = "mutation ($g: ID!, $d: String!, $n: ID!) { joinGroup(groupId: $g, domain: $d, nodeId: $n) { id } }";
const REPORT =
  "mutation ($g: ID!, $d: String!, $n: ID!, $data: [SensorDataInput!]!) { reportDataByNode(groupId: $g, domain: $d, nodeId: $n, data: $data) { groupId } }";
const FIRE =
  "mutation ($g: ID!, $d: String!, $n: ID!, $e: [EventInput!]!) { fireEventsByNode(groupId: $g, domain: $d, nodeId: $n, events: $e) { groupId } }";
const RENEW = "mutation ($g: ID!, $d: String!, $n: ID!) { renewHeartbeat(groupId: $g, domain: $d, hostId: $n) { groupId } }";
const BEAT = "mutation ($g: ID!, $d: String!, $n: ID!) { sendMemberHeartbeat(groupId: $g, domain: $d, nodeId: $n) { nodeId } }";

/** @type {number | undefined} */
let timer;
let playing = "";

/** Makes the group, with everybody in it. */
export async function start() {
  const { id } = await call(key, CREATE, { name: said.practiceName, host: practice.host, d: domain });
  for (const n of practice.members) await call(key, JOIN, { g: id, d: domain, n });
  play(id);
}

/** Plays a practice group that is open: this page or another has made it. @param {string} id */
export function play(id) {
  if (playing === id) return;
  stop();
  playing = id;
  let step = 0;
  timer = setInterval(() => act(id, step++).catch(lost), STEP_MS);
}

/** Plays nothing any more. */
export function stop() {
  clearInterval(timer);
  playing = "";
}

/** The group has ended; after other failures the next step tries again. @param {unknown} error */
function lost(error) {
  if (error instanceof Refused && error.type === "GroupNotFound") stop();
}

/** A member that the teacher has removed is refused, and the others go on. @param {unknown} error */
function unlessGone(error) {
  if (error instanceof Refused && error.type === "GroupNotFound") throw error;
}

/** @param {string} g @param {number} step */
async function act(g, step) {
  const { host, members } = practice;
  const at = { g, d: domain };
  const turn = (/** @type {number} */ shift) => (1 - Math.cos(((step + shift) / TURN_STEPS) * 2 * Math.PI)) / 2;
  const values = [
    { key: said.practiceValues[0], value: String(Math.round(100 * turn(0))) },
    { key: said.practiceValues[1], value: (18 + 8 * turn(7)).toFixed(1) },
  ];
  const calls = members.map((/** @type {string} */ n, /** @type {number} */ nth) => call(key, REPORT, { ...at, n, data: [values[nth]] }));
  if (step % EVENT_STEPS === EVENT_STEPS - 1) {
    const n = members[Math.floor(step / EVENT_STEPS) % members.length];
    const firedAt = new Date().toISOString();
    calls.push(call(key, FIRE, { ...at, n, e: [{ eventName: said.practiceEvent, firedAt }] }));
  }
  if (step % BEAT_STEPS === 0) {
    calls.push(call(key, RENEW, { ...at, n: host }));
    for (const n of members) calls.push(call(key, BEAT, { ...at, n }));
  }
  await Promise.all(calls.map((/** @type {Promise<any>} */ one) => one.catch(unlessGone)));
}
