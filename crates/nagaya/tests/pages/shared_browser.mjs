// The one Chromium that all stories share. `cargo xtask test` starts this script, which prints the
// address for `NAGAYA_BROWSER`. The browser ends with the script's input, so it never outlives the
// runner, however the runner ends.

import { OPTIONS, chromium } from "./chromium.mjs";

const server = await chromium.launchServer({ ...OPTIONS, host: "127.0.0.1" });
let isOver = false;
server.on("close", () => {
  if (isOver) return;
  console.error("the shared browser ended before the stories did");
  process.exit(1);
});
process.stdin.on("end", async () => {
  isOver = true;
  await server.close();
  process.exit(0);
});
process.stdin.resume();
console.log(server.wsEndpoint());
