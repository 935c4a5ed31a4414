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

/** What a browser says when the test has taken the network away. */
const AWAY = /ERR_INTERNET_DISCONNECTED/;
const faults = [];

/** Longer than any story takes, and less than a test may: calls into a browser that hangs have no end. */
const PATIENCE = 540_000;
/** Longer than anything takes that a story waits for, on a machine with other things to do. */
const SOON = 60_000;
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
  context.setDefaultTimeout(SOON);
  return context;
}

/**
 * A page on which nothing may go wrong: no error, no refusal of the policy, no dialog, and no answer
 * that is one but with these statuses, which the story asks for (`page.refused` later on).
 */
export async function visit(context, path, ...refused) {
  doing = `visiting ${path}`;
  const page = await context.newPage();
  page.refused = refused;
  const note = (what) => faults.push(`${path}: ${what}`);
  page.on("pageerror", (error) => note(error.stack));
  page.on("console", (message) => {
    const text = message.text();
    const status = Number(/status of (4\d\d)/.exec(text)?.[1]);
    if (message.type() !== "error" || AWAY.test(text) || page.refused.includes(status)) return;
    note(`${text} (${message.location().url})`);
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
  const end = Date.now() + SOON;
  let answer;
  do {
    answer = JSON.stringify(await ask());
    if (answer === JSON.stringify(wanted)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  } while (Date.now() < end);
  throw new Error(`${what}: ${answer}, not ${JSON.stringify(wanted)}`);
}

/** Nothing is wider than the screen. */
export async function fits(page, name) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (wide > 0) faults.push(`${name} is ${wide} px too wide`);
}

/** Nothing that would keep somebody out. */
export async function isAccessible(page, name, ...except) {
  doing = `looking at ${name}`;
  await page.evaluate(axe);
  const rules = Object.fromEntries(except.map((rule) => [rule, { enabled: false }]));
  const { violations } = await page.evaluate((rules) => axe.run({ resultTypes: ["violations"], rules }), rules);
  for (const { impact, id, nodes } of violations) {
    if (impact !== "serious" && impact !== "critical") continue;
    const where = nodes.map(({ target, failureSummary }) => `${target}: ${failureSummary}`);
    faults.push(`${name}: ${id}, ${impact}: ${where.join("; ")}`);
  }
}

/** Nobody looks further down, and a picture of all of /openapi takes many seconds and gigabytes. */
const TALLEST = 12_000;

/** Takes a picture of what is in the window, or of all the page. */
export async function picture(page, name, { fullPage = false } = {}) {
  doing = `taking the picture ${name}`;
  const path = `${process.env.NAGAYA_PICTURES}/${name}.png`;
  if (!fullPage) return page.screenshot({ path });
  const { width, height } = await page.evaluate(() => {
    const { scrollWidth: width, scrollHeight: height } = document.documentElement;
    return { width, height };
  });
  const clip = { x: 0, y: 0, width, height: Math.min(height, TALLEST) };
  return page.screenshot({ path, fullPage, clip });
}

/** The texts of all pages that are open, for who reads why a story stopped. */
async function shown() {
  const pages = browser.contexts().flatMap((context) => context.pages());
  const told = pages.map(async (page) => {
    const text = await page.locator("body").innerText({ timeout: 5_000 }).catch((error) => error.message);
    return `${page.url()} shows:\n${text.replace(/\s+/g, " ").slice(0, 1_500)}`;
  });
  return Promise.all(told);
}

/** Plays, and fails if anything went wrong on any page: what stopped the story may be its cause. */
export async function play(story) {
  try {
    await story();
  } catch (error) {
    faults.unshift(error.stack, ...(await shown()));
  } finally {
    doing = "closing the browser";
    await browser.close();
  }
  if (faults.length > 0) throw new Error(faults.join("\n"));
}
