// The control socket of a house under test: `testkit::program` tells what it takes. NAGAYA_CONTROL
// is its path.

import { connect } from "node:net";

/** Moves the house's clock ahead; what it shows then, in milliseconds. */
export async function moveClock(ms) {
  const answer = await order({ Advance: { ms } });
  return Date.parse(/^> (\S+)$/m.exec(answer)[1]);
}

/** Gives the house an order; its answer. */
function order(request) {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(process.env.NAGAYA_CONTROL, () => socket.end(`${JSON.stringify(request)}\n`));
    socket.setEncoding("utf8").on("data", (text) => (answer += text)).on("error", reject);
    const isDone = () => answer.includes('= {"code":0,');
    socket.on("close", () => (isDone() ? resolve(answer) : reject(new Error(`the house answered: ${answer}`))));
  });
}
