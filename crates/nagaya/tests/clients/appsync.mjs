// `aws-appsync` 4, as Smalruby uses it, over plain HTTP.

import { ask, each } from "./apollo.mjs";
import { WatchedWebSocket, acknowledged, key, load, patiently, play, url } from "./house.mjs";
import { lesson } from "./lesson.mjs";

globalThis.WebSocket = WatchedWebSocket;

const { AUTH_TYPE, AWSAppSyncClient } = load("aws-appsync");
const gql = load("graphql-tag");

/** Smalruby opens a socket without credentials first, to see whether the school lets it through. */
async function probe() {
  const socket = new WatchedWebSocket(`${url.replace("http", "ws")}/realtime`, "graphql-ws");
  await patiently("the probe", new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onclose = reject;
  }));
  socket.onclose = null;
  socket.close();
}

play(async () => {
  await probe();
  const auth = { type: AUTH_TYPE.API_KEY, apiKey: key };
  const client = new AWSAppSyncClient({ url, region: "ap-northeast-1", auth, disableOffline: true });
  await lesson({
    ask: (query, variables) => ask(client, gql(query), variables),
    follow(query, variables, onData) {
      const subscription = client.subscribe({ query: gql(query), variables });
      return subscription.subscribe({ next: ({ data }) => onData(each(data)), error: console.error });
    },
    followed: (count) => acknowledged.take(count),
  });
});
