// One lesson of a teacher and a pupil, from opening a group to its end, for any client.
//
// A client is
//   ask(query, variables)              the answer's data; what is refused is thrown with `errorType`
//   follow(query, variables, onData)   subscribes; answers what has an `unsubscribe`
//   followed(count)                    waits until the house has that many more subscriptions

import assert from "node:assert/strict";
import { Heard, reopenHouse } from "./house.mjs";

const [domain, hostId, nodeId, stranger] = ["つくば市立・東小 <1>", "せんせい", "たろう🐢", "はなこ"];
const FIRED_AT = ["2026-04-01T09:00:00.000Z", "2026-04-01T09:00:00.001Z"];
/** Reports in a row, to see that none overtakes another. */
const BURST = 25;

const OF_GROUP = "$groupId: ID!, $domain: String!";
const IN_GROUP = "groupId: $groupId, domain: $domain";
const OF_NODE = `${OF_GROUP}, $nodeId: ID!`;
const IN_NODE = `${IN_GROUP}, nodeId: $nodeId`;
const OF_HOST = `${OF_GROUP}, $hostId: ID!`;
const IN_HOST = `${IN_GROUP}, hostId: $hostId`;

const STATUS = "nodeId groupId domain data { key value } timestamp";
const BATCH = `events { name firedByNodeId groupId domain payload timestamp cursor orderKey }
  firedByNodeId groupId domain timestamp`;
const END = "groupId domain message";
const MESSAGE = `groupId domain
  nodeStatus { ${STATUS} } batchEvent { ${BATCH} } groupDissolve { ${END} }`;
const GROUP = `id domain fullId name hostId createdAt expiresAt heartbeatIntervalSeconds
  useWebSocket pollingIntervalSeconds`;

const CREATE_DOMAIN = "mutation CreateDomain { createDomain }";
const CREATE_GROUP = `mutation CreateGroup($name: String!, $hostId: ID!, $domain: String!) {
  createGroup(name: $name, hostId: $hostId, domain: $domain) { ${GROUP} }
}`;
const LIST_GROUPS = `query ListGroups($domain: String!) {
  listGroupsByDomain(domain: $domain) { ${GROUP} }
}`;
const JOIN = `mutation Join(${OF_NODE}) {
  joinGroup(${IN_NODE}) { id name groupId domain expiresAt heartbeatIntervalSeconds useWebSocket }
}`;
const REPORT = `mutation Report(${OF_NODE}, $data: [SensorDataInput!]!) {
  reportDataByNode(${IN_NODE}, data: $data) { ${MESSAGE} }
}`;
const FIRE = `mutation Fire(${OF_NODE}, $events: [EventInput!]!) {
  fireEventsByNode(${IN_NODE}, events: $events) { ${MESSAGE} }
}`;
const RENEW = `mutation Renew(${OF_HOST}) {
  renewHeartbeat(${IN_HOST}) { groupId domain expiresAt heartbeatIntervalSeconds }
}`;
const BEAT = `mutation Beat(${OF_NODE}) {
  sendMemberHeartbeat(${IN_NODE}) { nodeId groupId domain expiresAt heartbeatIntervalSeconds }
}`;
const STATUSES = `query Statuses(${OF_GROUP}) { listGroupStatuses(${IN_GROUP}) { ${STATUS} } }`;
const DISSOLVE = `mutation Dissolve(${OF_HOST}) { dissolveGroup(${IN_HOST}) { ${MESSAGE} } }`;

const SUBSCRIPTIONS = {
  onMessageInGroup: MESSAGE,
  onDataUpdateInGroup: STATUS,
  onBatchEventInGroup: BATCH,
  onGroupDissolve: END,
};

export async function lesson(client) {
  const group = await open(client);
  const place = { groupId: group.id, domain };
  const [heard, subscriptions] = subscribe(client, place);
  await client.followed(4);

  await reports(client, place, heard);
  await fires(client, place, heard);
  await staysInOrder(client, place, heard);
  await heartbeats(client, place, group);
  await isRefused(client, place);

  for (const end of ["close", "kill"]) {
    await reopenHouse(end);
    await client.followed(4);
    const kept = await client.ask(LIST_GROUPS, { domain });
    assert.deepEqual(kept, { listGroupsByDomain: [group] });
    // Values survive: clients send only changes.
    await reports(client, place, heard, { 番号: String(BURST - 1) });
    await fires(client, place, heard);
  }

  // The end of one subscription is not the end of the socket.
  subscriptions.onDataUpdateInGroup.unsubscribe();
  await fires(client, place, heard);
  await dissolves(client, place, heard);
}

async function open(client) {
  assert.deepEqual(await client.ask(CREATE_DOMAIN, {}), { createDomain: "local" });
  const { createGroup: group } = await client.ask(CREATE_GROUP, { name: "理科室", hostId, domain });
  const { id, createdAt, expiresAt } = group;
  assert.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 50 * 60 * 1000);
  assert.deepEqual(group, {
    id,
    domain,
    fullId: `${id}@${domain}`,
    name: "理科室",
    hostId,
    createdAt: instant(createdAt),
    expiresAt: instant(expiresAt),
    heartbeatIntervalSeconds: 30,
    useWebSocket: true,
    pollingIntervalSeconds: null,
  });
  assert.deepEqual(await client.ask(JOIN, { groupId: id, domain, nodeId }), {
    joinGroup: {
      id: nodeId,
      name: `Node ${nodeId}`,
      groupId: id,
      domain,
      expiresAt,
      heartbeatIntervalSeconds: 120,
      useWebSocket: true,
    },
  });
  return group;
}

function subscribe(client, place) {
  const [heard, subscriptions] = [{}, {}];
  for (const [field, selection] of Object.entries(SUBSCRIPTIONS)) {
    heard[field] = new Heard(field);
    const query = `subscription Sub_${field}(${OF_GROUP}) { ${field}(${IN_GROUP}) { ${selection} } }`;
    subscriptions[field] = client.follow(query, place, (data) => heard[field].add(data[field]));
  }
  return [heard, subscriptions];
}

/** A value is sent to all as it came: in its order, doubled keys and all. `before` is what the node
 * has reported already. */
async function reports(client, place, heard, before = {}) {
  const data = [
    { key: "温度", value: "21.5" },
    { key: "名前 \"'\\", value: "<山田>\n&amp;" },
    { key: "温度", value: "22" },
    { key: "空", value: "" },
  ];
  const { reportDataByNode: told } = await client.ask(REPORT, { ...place, nodeId, data });
  const timestamp = instant(told.nodeStatus.timestamp);
  const status = { nodeId, ...place, data, timestamp };
  assert.deepEqual(told, { ...place, nodeStatus: status, batchEvent: null, groupDissolve: null });
  assert.deepEqual(await heard.onMessageInGroup.take(1), [told]);
  assert.deepEqual(await heard.onDataUpdateInGroup.take(1), [status]);

  const { listGroupStatuses } = await client.ask(STATUSES, place);
  const merged = Object.fromEntries(listGroupStatuses[0].data.map(({ key, value }) => [key, value]));
  assert.deepEqual([listGroupStatuses.length, listGroupStatuses[0].nodeId], [1, nodeId]);
  assert.deepEqual(merged, { ...before, 温度: "22", "名前 \"'\\": "<山田>\n&amp;", 空: "" });
}

/** Events keep their order and the sender's time; an empty payload is none. The host may fire. */
async function fires(client, place, heard) {
  const events = [
    { eventName: "ジャンプ", payload: "高く", firedAt: FIRED_AT[1], orderKey: "b" },
    { eventName: "とまれ", payload: "", firedAt: FIRED_AT[0] },
  ];
  const { fireEventsByNode: told } = await client.ask(FIRE, { ...place, nodeId: hostId, events });
  const batch = told.batchEvent;
  const [first, second] = batch.events.map((event) => event.cursor);
  assert.ok(first.startsWith("EVENT#") && first < second, `${first} ${second}`);
  const of = (name, payload, timestamp, cursor, orderKey) =>
    ({ name, firedByNodeId: hostId, ...place, payload, timestamp, cursor, orderKey });
  assert.deepEqual(batch, {
    events: [
      of("ジャンプ", "高く", FIRED_AT[1], first, "b"),
      of("とまれ", null, FIRED_AT[0], second, null),
    ],
    firedByNodeId: hostId,
    ...place,
    timestamp: instant(batch.timestamp),
  });
  assert.deepEqual(told, { ...place, nodeStatus: null, batchEvent: batch, groupDissolve: null });
  assert.deepEqual(await heard.onMessageInGroup.take(1), [told]);
  assert.deepEqual(await heard.onBatchEventInGroup.take(1), [batch]);
}

/** Many reports, each sent when the one before was acknowledged. */
async function staysInOrder(client, place, heard) {
  const told = [];
  for (let turn = 0; turn < BURST; turn += 1) {
    const data = [{ key: "番号", value: String(turn) }];
    const answer = await client.ask(REPORT, { ...place, nodeId, data });
    told.push(answer.reportDataByNode);
  }
  assert.deepEqual(await heard.onMessageInGroup.take(BURST), told);
  const statuses = await heard.onDataUpdateInGroup.take(BURST);
  assert.deepEqual(statuses, told.map((message) => message.nodeStatus));
  assert.deepEqual(statuses.map(({ data }) => data[0].value), statuses.map((_, turn) => String(turn)));
  const times = statuses.map(({ timestamp }) => timestamp);
  assert.deepEqual(times, [...new Set(times)].sort(), "newer values have later times");
}

/** Heartbeats move leases, never the group's end. */
async function heartbeats(client, place, group) {
  assert.deepEqual(await client.ask(RENEW, { ...place, hostId }), {
    renewHeartbeat: { ...place, expiresAt: group.expiresAt, heartbeatIntervalSeconds: 30 },
  });
  const { sendMemberHeartbeat: beat } = await client.ask(BEAT, { ...place, nodeId });
  const { expiresAt } = beat;
  assert.deepEqual(beat, { nodeId, ...place, expiresAt: instant(expiresAt), heartbeatIntervalSeconds: 120 });
  const lease = Date.parse(expiresAt) - Date.parse(group.createdAt);
  assert.ok(lease >= 600_000 && lease < 660_000, `a lease until ${lease} ms after the beginning`);
}

/** A refusal comes through with its word. */
async function isRefused(client, place) {
  const data = [{ key: "温度", value: "0" }];
  await assert.rejects(client.ask(REPORT, { ...place, nodeId: stranger, data }), {
    errorType: "Unauthorized",
  });
  await assert.rejects(client.ask(RENEW, { ...place, groupId: "無い", hostId }), {
    errorType: "GroupNotFound",
    message: `Group not found: 無い@${domain}`,
  });
}

async function dissolves(client, place, heard) {
  const { dissolveGroup: told } = await client.ask(DISSOLVE, { ...place, hostId });
  const message = `Group ${place.groupId}@${domain} has been dissolved successfully.`;
  const end = { ...place, message };
  assert.deepEqual(told, { ...place, nodeStatus: null, batchEvent: null, groupDissolve: end });
  assert.deepEqual(await heard.onMessageInGroup.take(1), [told]);
  assert.deepEqual(await heard.onGroupDissolve.take(1), [end]);
  assert.deepEqual(await client.ask(LIST_GROUPS, { domain }), { listGroupsByDomain: [] });
  for (const { what, rest } of Object.values(heard)) assert.deepEqual(rest, [], what);
}

/** The text, if it is UTC with milliseconds. */
function instant(text) {
  assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  return text;
}
