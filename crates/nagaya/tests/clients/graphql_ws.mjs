// `graphql-ws` 6: the subprotocol `graphql-transport-ws`, everything over one socket.

import { Heard, key, load, play, url } from "./house.mjs";
import { lesson } from "./lesson.mjs";

const { createClient } = load("graphql-ws");

const followed = new Heard("subscriptions before a pong");

/**
 * This protocol acknowledges no subscription. The house hears a socket's messages in turn: so a
 * pong, which the client asks for by itself, says that the subscriptions before its ping stand.
 */
class WatchedWebSocket extends load("ws").WebSocket {
  #sent = [];
  #covered = [];

  constructor(...all) {
    super(...all);
    this.addEventListener("message", ({ data }) => {
      if (JSON.parse(data).type !== "pong") return;
      for (const id of this.#covered.splice(0)) followed.add(id);
    });
  }

  send(text, ...all) {
    super.send(text, ...all);
    const { type, id, payload } = JSON.parse(text);
    if (type === "subscribe" && payload.query.startsWith("subscription")) this.#sent.push(id);
    if (type === "ping") this.#covered.push(...this.#sent.splice(0));
  }
}

play(async () => {
  const client = createClient({
    url: `${url.replace(/^http/, "ws")}/realtime`,
    webSocketImpl: WatchedWebSocket,
    connectionParams: { "x-api-key": key },
    keepAlive: 50,
    // By itself it gives up when nobody listens, and waits for seconds before it finds out.
    shouldRetry: () => true,
    retryWait: () => new Promise((resolve) => setTimeout(resolve, 50)),
    retryAttempts: 1_000,
  });
  await lesson({
    async ask(query, variables) {
      const results = client.iterate({ query, variables });
      const { value: answer } = await results.next();
      if (answer.errors) throw answer.errors[0];
      return answer.data;
    },
    follow(query, variables, onData) {
      const next = ({ data }) => onData(data);
      const sink = { next, error: console.error, complete() {} };
      return { unsubscribe: client.subscribe({ query, variables }, sink) };
    },
    followed: (count) => followed.take(count),
  });
});
