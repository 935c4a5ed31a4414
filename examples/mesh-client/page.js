// The page of the client.

import { Mesh } from "./mesh.js";

const find = (id) => document.getElementById(id);
const values = new Map();
let member;

function tell(problem) {
  find("problem").textContent = problem?.message ?? "";
}

/** Runs what a person asked for, and shows why it did not work. */
function doing(work) {
  return async (event) => {
    event.preventDefault();
    tell();
    await work(new FormData(event.target instanceof HTMLFormElement ? event.target : find("enter"))).catch(tell);
  };
}

const meshOf = (form) => new Mesh({ url: form.get("url"), key: form.get("key") });

find("look").addEventListener("click", doing(async (form) => {
  const mesh = meshOf(form);
  const groups = await mesh.listGroups(await mesh.createDomain());
  const choices = groups.map((group) => new Option(group.name, group.id));
  find("enter").elements.group.replaceChildren(new Option("a new one", ""), ...choices);
}));

find("enter").addEventListener("submit", doing(async (form) => {
  const mesh = meshOf(form);
  const domain = await mesh.createDomain();
  const [groupId, nodeId] = [form.get("group"), form.get("node")];
  member = groupId
    ? await mesh.join({ groupId, domain, nodeId })
    : await mesh.host({ name: form.get("name"), hostId: nodeId, domain });
  await member.listen(show);
  for (const { nodeId, data } of await member.statuses()) keep(nodeId, data);
  find("title").textContent = `${nodeId} @ ${member.group.name ?? form.get("group")}`;
  find("enter").hidden = true;
  find("inside").hidden = false;
}));

find("report").addEventListener("submit", doing((form) => member.report({ [form.get("key")]: form.get("value") })));
find("fire").addEventListener("submit", doing((form) => member.fire(form.get("event"))));
find("leave").addEventListener("click", doing(async () => {
  await (member.isHost ? member.dissolve() : member.leave());
  location.reload();
}));

function show({ nodeStatus, batchEvent, groupDissolve }) {
  if (nodeStatus) keep(nodeStatus.nodeId, nodeStatus.data);
  for (const event of batchEvent?.events ?? []) {
    const line = document.createElement("li");
    line.textContent = `${event.firedByNodeId}: ${event.name}`;
    find("events").prepend(line);
  }
  if (groupDissolve) {
    member.stop();
    tell({ message: groupDissolve.message });
  }
}

function keep(nodeId, data) {
  for (const { key, value } of data) values.set(JSON.stringify([nodeId, key]), [nodeId, key, value]);
  const rows = [...values.values()].map((cells) => {
    const row = document.createElement("tr");
    row.append(...cells.map((text) => Object.assign(document.createElement("td"), { textContent: text })));
    return row;
  });
  find("values").replaceChildren(...rows);
}
