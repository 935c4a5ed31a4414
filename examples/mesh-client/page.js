// The page of the client, in hiragana: it is for children.

import { Mesh } from "./mesh.js";

const find = (id) => document.getElementById(id);
const enter = find("enter").elements;
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
    await work(event.target.elements).catch(tell);
  };
}

const meshOf = () => new Mesh({ url: enter.url.value, key: enter.key.value });

find("look").addEventListener("click", doing(async () => {
  const mesh = meshOf();
  offer(await mesh.listGroups(await mesh.createDomain()));
}));

function offer(groups) {
  const choices = groups.map((group) => new Option(group.name, group.id));
  enter.group.replaceChildren(new Option("あたらしく つくる", ""), ...choices);
  showName();
}

enter.group.addEventListener("change", showName);

/** Only a new group needs a name. */
function showName() {
  enter.name.closest("label").hidden = enter.group.value !== "";
}

find("enter").addEventListener("submit", doing(async () => {
  const mesh = meshOf();
  const domain = await mesh.createDomain();
  const [groupId, nodeId] = [enter.group.value, enter.node.value];
  member = groupId
    ? await mesh.join({ groupId, domain, nodeId })
    : await mesh.host({ name: enter.name.value, hostId: nodeId, domain });
  await member.listen(show);
  for (const status of await member.statuses()) keep(status);
  const name = groupId ? enter.group.selectedOptions[0].text : member.group.name;
  find("title").textContent = `${nodeId} @ ${name}`;
  find("leave").textContent = member.isHost ? "グループを おわる" : "でる";
  go({ inside: true });
}));

find("report").addEventListener("submit", doing(({ key, value }) => member.report({ [key.value]: value.value })));
find("fire").addEventListener("submit", doing(({ event }) => member.fire(event.value)));
find("leave").addEventListener("click", doing(async () => {
  await (member.isHost ? member.dissolve() : member.leave());
  go({ inside: false });
}));

function show({ nodeStatus, batchEvent, groupDissolve }) {
  if (nodeStatus) keep(nodeStatus);
  for (const event of batchEvent?.events ?? []) {
    const line = document.createElement("li");
    line.textContent = `${event.firedByNodeId}: ${event.name}`;
    find("events").prepend(line);
  }
  if (groupDissolve) {
    member.stop();
    go({ inside: false });
    tell(groupDissolve);
  }
}

/** Keeps the newest value of every variable: what was asked for may come after what was told. */
function keep({ nodeId, data, timestamp }) {
  for (const { key, value } of data) {
    const name = JSON.stringify([nodeId, key]);
    if (timestamp >= (values.get(name)?.timestamp ?? "")) values.set(name, { cells: [nodeId, key, value], timestamp });
  }
  const rows = [...values.values()].map(({ cells }) => {
    const row = document.createElement("tr");
    row.append(...cells.map((text) => Object.assign(document.createElement("td"), { textContent: text })));
    return row;
  });
  find("values").replaceChildren(...rows);
}

/** Into the group or out of it; what was told there is forgotten. */
function go({ inside }) {
  find("enter").hidden = inside;
  find("inside").hidden = !inside;
  if (inside) return;
  offer([]);
  values.clear();
  find("values").replaceChildren();
  find("events").replaceChildren();
}
