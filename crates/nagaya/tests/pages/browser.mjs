// What every script has in common: the browser, people with a browser of their own, and the list of
// what went wrong without anybody looking.
//
// The test starts a script with NAGAYA_URL, NAGAYA_PACKAGES and NAGAYA_PICTURES, a folder for
// screenshots.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

export const url = process.env.NAGAYA_URL;
const load = createRequire(`${process.env.NAGAYA_PACKAGES}/package.json`);
const axe = readFileSync(load.resolve("axe-core/axe.min.js"), "utf8");

/** What a browser says when the test has taken the network away, or has asked for a refusal. */
const EXPECTED = /ERR_INTERNET_DISCONNECTED|status of 4(00|01|03|04|09|10|29)/;
const faults = [];

/** Longer than any story takes on a slow machine: calls into a browser that hangs have no end. */
const PATIENCE = 300_000;
/** What was begun last, for who asks why a story did not end. */
let doing = "starting the browser";
setTimeout(() => {
  console.error(`stuck for ${PATIENCE} ms, after: ${doing}`, ...faults);
  process.exit(1);
}, PATIENCE).unref();

// A user namespace for its sandbox is not to be had everywhere; the pages are our own.
const browser = await load("playwright-core").chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox"],
});

export const PHONE = { width: 390, height: 844 };
export const LAPTOP = { width: 1280, height: 800 };
export const PROJECTOR = { width: 1920, height: 1080 };

/** Somebody with a browser of their own. */
export async function person(viewport, { lang = "ja", theme = "light", ...more } = {}) {
  const locale = lang === "ja" ? "ja-JP" : "en-US";
  const options = { viewport, locale, colorScheme: theme, timezoneId: "Asia/Tokyo", ...more };
  const context = await browser.newContext(options);
  context.setDefaultTimeout(20_000);
  return context;
}

/** A page on which nothing may go wrong: no error, no refusal of the policy, no dialog. */
export async function visit(context, path) {
  doing = `visiting ${path}`;
  const page = await context.newPage();
  const note = (what) => faults.push(`${path}: ${what}`);
  page.on("pageerror", (error) => note(error.stack));
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() === "error" && !EXPECTED.test(text)) note(text);
  });
  page.on("dialog", (dialog) => {
    if (page.expects?.(dialog.message())) return dialog.accept();
    note(`a dialog: ${dialog.message()}`);
    return dialog.dismiss();
  });
  await page.goto(url + path);
  return page;
}

/** Waits for a comment in the list of a page. */
export const comment = (page, text) => page.locator("#comments > li", { hasText: text });

/** The texts of the list, newest first. */
export const texts = (page) => page.locator("#comments > li .said").allTextContents();

/** Waits until a question has this answer, as JSON. */
export async function until(what, ask, wanted) {
  doing = `waiting for ${what}`;
  const end = Date.now() + 20_000;
  let answer;
  do {
    answer = JSON.stringify(await ask());
    if (answer === JSON.stringify(wanted)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  } while (Date.now() < end);
  throw new Error(`${what}: ${answer}, not ${JSON.stringify(wanted)}`);
}

/** Nothing that would keep somebody out. */
export async function isAccessible(page, name) {
  doing = `looking at ${name}`;
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run({ resultTypes: ["violations"] }));
  for (const { impact, id, nodes } of violations) {
    if (impact !== "serious" && impact !== "critical") continue;
    const where = nodes.map(({ target, failureSummary }) => `${target}: ${failureSummary}`);
    faults.push(`${name}: ${id}, ${impact}: ${where.join("; ")}`);
  }
}

export const picture = (page, name, more) =>
  page.screenshot({ path: `${process.env.NAGAYA_PICTURES}/${name}.png`, ...more });

/** Plays, and fails if anything went wrong on any page: what stopped the story may be its cause. */
export async function play(story) {
  try {
    await story();
  } catch (error) {
    faults.unshift(error.stack);
  } finally {
    doing = "closing the browser";
    await browser.close();
  }
  if (faults.length > 0) throw new Error(faults.join("\n"));
}
