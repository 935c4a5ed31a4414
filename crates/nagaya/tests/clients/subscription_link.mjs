// `aws-appsync-subscription-link` 3 under Apollo 3, over plain HTTP.

import { ask, each } from "./apollo.mjs";
import { WatchedWebSocket, acknowledged, key, load, play, url } from "./house.mjs";
import { lesson } from "./lesson.mjs";

globalThis.WebSocket = WatchedWebSocket;

const { ApolloClient, ApolloLink, InMemoryCache, gql } = load("@apollo/client/core");
const { RetryLink } = load("@apollo/client/link/retry");
const { createAuthLink } = load("aws-appsync-auth-link");
const { createSubscriptionHandshakeLink } = load("aws-appsync-subscription-link");

play(async () => {
  const info = { url, region: "ap-northeast-1", auth: { type: "API_KEY", apiKey: key } };
  // The link ends its subscriptions with the socket; Apollo's own link begins them again.
  const retry = new RetryLink({ attempts: { max: Infinity } });
  const link = ApolloLink.from([retry, createAuthLink(info), createSubscriptionHandshakeLink(info)]);
  const client = new ApolloClient({ link, cache: new InMemoryCache() });
  await lesson({
    ask: (query, variables) => ask(client, gql(query), variables),
    follow(query, variables, onData) {
      const subscription = client.subscribe({ query: gql(query), variables, fetchPolicy: "no-cache" });
      return subscription.subscribe({ next: ({ data }) => onData(each(data)), error: console.error });
    },
    followed: (count) => acknowledged.take(count),
  });
});
