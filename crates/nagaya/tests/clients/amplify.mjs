// `aws-amplify` 6, which insists on TLS unless the address is spelled `HTTP://`.

import { WatchedWebSocket, acknowledged, hurry, key, load, play, url } from "./house.mjs";
import { lesson } from "./lesson.mjs";

hurry();
globalThis.WebSocket = WatchedWebSocket;

const { Amplify } = load("aws-amplify");
const { generateClient } = load("aws-amplify/api");

play(async () => {
  const graphql = { endpoint: url, apiKey: key, region: "ap-northeast-1", defaultAuthMode: "apiKey" };
  Amplify.configure({ API: { GraphQL: graphql } });
  const client = generateClient();
  await lesson({
    async ask(query, variables) {
      const answer = await client.graphql({ query, variables }).catch((refused) => {
        throw refused.errors?.[0] ?? refused;
      });
      return answer.data;
    },
    follow(query, variables, onData) {
      const subscription = client.graphql({ query, variables });
      return subscription.subscribe({ next: ({ data }) => onData(data), error: console.error });
    },
    followed: (count) => acknowledged.take(count),
  });
});
