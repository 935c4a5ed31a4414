// A client of the mesh, for Node 20 and browsers, without dependencies.
//
// It speaks GraphQL over HTTP, and AppSync's realtime protocol over one WebSocket: the same words
// as the clients of Smalruby and Scratch. A lost connection comes back by itself and goes on where
// it stopped, by the cursor of the last push.

const MESSAGE = `
  groupId domain
  nodeStatus { nodeId groupId domain data { key value } timestamp }
  batchEvent {
    events { name firedByNodeId groupId domain payload timestamp cursor orderKey }
    firedByNodeId groupId domain timestamp
  }
  groupDissolve { groupId domain message }`;

const OF_NODE = "$groupId: ID!, $domain: String!, $nodeId: ID!";
const IN_NODE = "groupId: $groupId, domain: $domain, nodeId: $nodeId";
const OF_HOST = "$groupId: ID!, $domain: String!, $hostId: ID!";
const IN_HOST = "groupId: $groupId, domain: $domain, hostId: $hostId";
const GROUP = "id domain fullId name hostId createdAt expiresAt heartbeatIntervalSeconds useWebSocket";

/** Between two tries to connect. */
const RECONNECT_MS = 1000;

/** What the server refused, with the word that says why. */
export class MeshError extends Error {
  constructor({ errorType, message }) {
    super(message);
    this.errorType = errorType;
  }
}

/** A server of the mesh. */
export class Mesh {
  /**
   * @param {{ url: string, key: string, WebSocket?: typeof globalThis.WebSocket }} options
   *   `url` is the house's address, such as `http://127.0.0.1:8080`.
   */
  constructor({ url, key, WebSocket = globalThis.WebSocket }) {
    this.url = url.replace(/\/$/, "");
    this.key = key;
    this.WebSocket = WebSocket;
  }

  /** Asks, and answers the one field asked for. */
  async ask(query, variables = {}) {
    const response = await fetch(`${this.url}/mesh/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": this.key },
      body: JSON.stringify({ query, variables }),
    });
    const answer = await response.json();
    if (answer.errors?.length) throw new MeshError(answer.errors[0]);
    return Object.values(answer.data)[0];
  }

  /** The domain of this network: groups of one classroom find each other by it. */
  createDomain() {
    return this.ask("mutation { createDomain }");
  }

  /** The groups of a domain. */
  listGroups(domain) {
    const query = `query($domain: String!) { listGroupsByDomain(domain: $domain) { ${GROUP} } }`;
    return this.ask(query, { domain });
  }

  /** Makes a group and keeps it alive. */
  async host({ name, hostId, domain }) {
    const query = `mutation($name: String!, $hostId: ID!, $domain: String!) {
      createGroup(name: $name, hostId: $hostId, domain: $domain) { ${GROUP} }
    }`;
    const group = await this.ask(query, { name, hostId, domain });
    return new Member(this, group, hostId, true);
  }

  /** Joins a group and stays in it. */
  async join({ groupId, domain, nodeId }) {
    const query = `mutation(${OF_NODE}) {
      joinGroup(${IN_NODE}) { id heartbeatIntervalSeconds }
    }`;
    const node = await this.ask(query, { groupId, domain, nodeId });
    const { heartbeatIntervalSeconds } = node;
    return new Member(this, { id: groupId, domain, heartbeatIntervalSeconds }, nodeId, false);
  }
}

/** A node in a group. */
export class Member {
  constructor(mesh, group, nodeId, isHost) {
    this.mesh = mesh;
    this.group = group;
    this.nodeId = nodeId;
    this.isHost = isHost;
    this.stops = [];
    const beat = () => this.heartbeat().catch(() => {});
    const timer = setInterval(beat, group.heartbeatIntervalSeconds * 1000);
    this.stops.push(() => clearInterval(timer));
  }

  get variables() {
    const { id: groupId, domain } = this.group;
    return { groupId, domain, nodeId: this.nodeId };
  }

  /** Tells the server that this node is alive. */
  heartbeat() {
    const { groupId, domain, nodeId } = this.variables;
    return this.isHost
      ? this.mesh.ask(`mutation(${OF_HOST}) { renewHeartbeat(${IN_HOST}) { expiresAt } }`, {
          groupId,
          domain,
          hostId: nodeId,
        })
      : this.mesh.ask(`mutation(${OF_NODE}) { sendMemberHeartbeat(${IN_NODE}) { expiresAt } }`, {
          groupId,
          domain,
          nodeId,
        });
  }

  /** Tells the group the values of variables: `{ temperature: 21 }`. */
  report(values) {
    const data = Object.entries(values).map(([key, value]) => ({ key, value: String(value) }));
    const query = `mutation(${OF_NODE}, $data: [SensorDataInput!]!) {
      reportDataByNode(${IN_NODE}, data: $data) { nodeStatus { timestamp } }
    }`;
    return this.mesh.ask(query, { ...this.variables, data });
  }

  /** Tells the group that something happened. */
  fire(eventName, payload) {
    const events = [{ eventName, payload, firedAt: new Date().toISOString() }];
    const query = `mutation(${OF_NODE}, $events: [EventInput!]!) {
      fireEventsByNode(${IN_NODE}, events: $events) { batchEvent { timestamp } }
    }`;
    return this.mesh.ask(query, { ...this.variables, events });
  }

  /** What all nodes have told so far. */
  statuses() {
    const query = `query($groupId: ID!, $domain: String!) {
      listGroupStatuses(groupId: $groupId, domain: $domain) { nodeId data { key value } timestamp }
    }`;
    const { groupId, domain } = this.variables;
    return this.mesh.ask(query, { groupId, domain });
  }

  /** Hears everything that is told to the group; answers when nothing later can be missed. */
  async listen(onMessage) {
    const stream = new Stream(this.mesh, this.group, onMessage);
    this.stops.push(() => stream.close());
    await stream.ready;
  }

  /** Leaves the group; a host leaves it alone. */
  async leave() {
    this.stop();
    const query = `mutation(${OF_NODE}) { leaveGroup(${IN_NODE}) { message } }`;
    return this.mesh.ask(query, this.variables);
  }

  /** Ends the group, for its host. */
  async dissolve() {
    const { groupId, domain, nodeId } = this.variables;
    const query = `mutation(${OF_HOST}) { dissolveGroup(${IN_HOST}) { groupDissolve { message } } }`;
    const answer = await this.mesh.ask(query, { groupId, domain, hostId: nodeId });
    this.stop();
    return answer;
  }

  /** Stops listening and heartbeats, without telling anybody. */
  stop() {
    for (const stop of this.stops.splice(0)) stop();
  }
}

/** A subscription that outlives its connections. */
class Stream {
  constructor(mesh, group, onMessage) {
    this.mesh = mesh;
    this.group = group;
    this.onMessage = onMessage;
    this.cursor = "";
    this.isOver = false;
    this.ready = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    this.connect();
  }

  connect() {
    const header = btoa(JSON.stringify({ host: "mesh", "x-api-key": this.mesh.key }));
    const url = this.mesh.url.replace(/^http/i, "ws");
    const address = `${url}/mesh/graphql/realtime?header=${encodeURIComponent(header)}&payload=e30=`;
    this.socket = new this.mesh.WebSocket(address, "graphql-ws");
    this.socket.onopen = () => this.send({ type: "connection_init" });
    this.socket.onmessage = ({ data }) => this.hear(JSON.parse(data));
    this.socket.onerror = () => {};
    this.socket.onclose = () => {
      if (!this.isOver) this.retry = setTimeout(() => this.connect(), RECONNECT_MS);
    };
  }

  hear(frame) {
    switch (frame.type) {
      case "connection_ack":
        return this.start();
      case "start_ack":
        // With a gap the group has told more than is kept: whoever needs all of it asks for it.
        if (frame.payload.gap || !this.cursor) this.cursor = frame.payload.cursor;
        return this.resolve();
      case "data":
        this.cursor = frame.cursor;
        return this.onMessage(frame.payload.data.onMessageInGroup);
      case "connection_error":
      case "error":
        this.close();
        return this.reject(new MeshError({ message: "refused", ...frame.payload.errors[0] }));
    }
  }

  start() {
    const query = `subscription($groupId: ID!, $domain: String!) {
      onMessageInGroup(groupId: $groupId, domain: $domain) { ${MESSAGE} }
    }`;
    const { id: groupId, domain } = this.group;
    const data = JSON.stringify({ query, variables: { groupId, domain } });
    const authorization = { host: "mesh", "x-api-key": this.mesh.key };
    const extensions = { authorization, resumeFrom: this.cursor };
    this.send({ id: "1", type: "start", payload: { data, extensions } });
  }

  send(frame) {
    this.socket.send(JSON.stringify(frame));
  }

  close() {
    this.isOver = true;
    clearTimeout(this.retry);
    this.socket.close();
  }
}
