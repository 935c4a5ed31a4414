// The mesh from a terminal. `node main.js` says how.

import { randomUUID } from "node:crypto";
import { Mesh, MeshError } from "./mesh.js";

const USAGE = `usage: node main.js <command> --key KEY [options]

commands
  groups                     list the groups of this network
  host --name NAME           open a group and show what is told in it
  join --group ID            join a group and show what is told in it

options
  --url URL                  the house             [http://127.0.0.1:8080]
  --node ID                  who you are           [made up]
  --domain DOMAIN            another network's     [this one]
  --report KEY=VALUE         tell a value, once a second
  --fire NAME                tell an event, at the beginning
  --seconds N                stop after so long    [until Ctrl-C]`;

function read(words) {
  const [command, ...rest] = words;
  const options = { url: "http://127.0.0.1:8080", node: `node-${randomUUID().slice(0, 8)}` };
  while (rest.length > 0) {
    const name = rest.shift();
    const value = rest.shift();
    if (!name.startsWith("--") || value === undefined) throw new Error(USAGE);
    options[name.slice(2)] = value;
  }
  if (!options.key) throw new Error(USAGE);
  return { command, options };
}

function show({ nodeStatus, batchEvent, groupDissolve }) {
  if (nodeStatus) {
    const values = nodeStatus.data.map(({ key, value }) => `${key} = ${value}`).join(", ");
    console.log(`${nodeStatus.nodeId}: ${values}`);
  }
  for (const event of batchEvent?.events ?? []) {
    console.log(`${event.firedByNodeId} fired ${event.name}${event.payload ? ` (${event.payload})` : ""}`);
  }
  if (groupDissolve) console.log(groupDissolve.message);
}

async function stay(member, { report, fire, seconds }) {
  const end = new Promise((resolve) => {
    process.once("SIGINT", resolve);
    process.once("SIGTERM", resolve);
    if (seconds) setTimeout(resolve, Number(seconds) * 1000);
  });
  await member.listen((message) => {
    show(message);
    if (message.groupDissolve) process.exit(0);
  });
  if (fire) await member.fire(fire);
  if (report) {
    const [key, ...value] = report.split("=");
    const tell = () => member.report({ [key]: value.join("=") });
    await tell();
    const timer = setInterval(() => tell().catch((error) => console.error(error.message)), 1000);
    end.then(() => clearInterval(timer));
  }
  await end;
  await (member.isHost ? member.dissolve() : member.leave());
}

async function main() {
  const { command, options } = read(process.argv.slice(2));
  // Node has had a WebSocket of its own since 22; before, one must be installed beside this.
  const WebSocket = globalThis.WebSocket ?? (await import("ws")).default;
  const mesh = new Mesh({ ...options, WebSocket });
  const domain = options.domain ?? (await mesh.createDomain());
  if (command === "groups") {
    for (const group of await mesh.listGroups(domain)) console.log(`${group.id}  ${group.name}`);
  } else if (command === "host" && options.name) {
    const host = await mesh.host({ name: options.name, hostId: options.node, domain });
    console.log(`group ${host.group.id} in ${domain}`);
    await stay(host, options);
  } else if (command === "join" && options.group) {
    const member = await mesh.join({ groupId: options.group, domain, nodeId: options.node });
    console.log(`joined as ${options.node}`);
    await stay(member, options);
  } else {
    throw new Error(USAGE);
  }
}

main().catch((error) => {
  const word = error instanceof MeshError ? `${error.errorType}: ` : "";
  console.error(`${word}${error.message}`);
  process.exit(1);
});
