// What all stories have in common: the browser, people with a browser of their own, waits, and the
// list of faults that no story asks for.
//
// The test starts a script with NAGAYA_URL, NAGAYA_PACKAGES and NAGAYA_PICTURES, a folder for
// screenshots. NAGAYA_BROWSER is the address of a browser that runs already; without it the script
// starts its own. How pages look: `appearance.mjs`. The time of the house: `clock.mjs`.

import { OPTIONS, chromium } from "./chromium.mjs";

export const url = process.env.NAGAYA_URL;
/** Whether this run repeats more: `testkit::depth`. */
export const isDeep = process.env.NAGAYA_TEST_DEEP !== undefined;

/** What a browser says when the story has taken the network away. */
const AWAY = /ERR_INTERNET_DISCONNECTED/;
const faults = [];

/** Longer than anything takes that a story waits for, on a machine with other things to do. */
const WAIT_MS = 20_000;
/** Between two looks at a page: short beside anything that a story waits for. */
const PAUSE_MS = 20;
/** Longer than any story takes, and shorter than its test may: some calls into a browser that hangs never end. */
const STORY_MS = 150_000;
/** The step that began last, to explain why a story does not end. */
let doing = "starting the browser";
setTimeout(() => {
  console.error(`stuck for ${STORY_MS} ms, after: ${doing}`, ...faults);
  process.exit(1);
}, STORY_MS).unref();

const endpoint = process.env.NAGAYA_BROWSER;
const browser = endpoint ? await chromium.connect(endpoint) : await chromium.launch(OPTIONS);
/** The contexts of this story: a shared browser has those of other stories too. */
const contexts = new Set();

export const PHONE = { width: 390, height: 844 };
export const SMALL = { width: 375, height: 812 };
export const LAPTOP = { width: 1280, height: 800 };
export const DESKTOP = { width: 1440, height: 900 };
export const PROJECTOR = { width: 1920, height: 1080 };

/** A person with a browser of their own. */
export async function person(viewport, { lang = "ja", theme = "light", ...more } = {}) {
  const locale = lang === "ja" ? "ja-JP" : "en-US";
  const options = { viewport, locale, colorScheme: theme, timezoneId: "Asia/Tokyo", ...more };
  const context = await browser.newContext(options);
  context.setDefaultTimeout(WAIT_MS);
  contexts.add(context);
  context.on("close", () => contexts.delete(context));
  return context;
}

/** Notes something that must not happen on any page. */
export function fault(text) {
  faults.push(text);
}

/** Names the step that begins. With NAGAYA_STEPS, the script prints all of them with their times. */
export function begins(step) {
  doing = step;
  if (process.env.NAGAYA_STEPS !== undefined) console.log(`${(performance.now() / 1_000).toFixed(2)} s: ${step}`);
}

/**
 * A page on which nothing may go wrong: no error, no refusal of the policy, no dialog, and no failed
 * request but with these statuses, which the story provokes (`page.refused` later on).
 */
export async function visit(context, path, ...refused) {
  const page = await context.newPage();
  page.refused = refused;
  const note = (what) => fault(`${page.url()}: ${what}`);
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
  page.on("crash", () => note("the page crashed"));
  await go(page, path);
  return page;
}

/** Another address in the same page, which is three times as quick as another page. */
export async function go(page, path) {
  begins(`visiting ${path}`);
  await page.goto(url + path);
}

/** Waits until a question has this answer, as JSON. */
export async function until(what, ask, wanted) {
  begins(`waiting for ${what}`);
  const end = Date.now() + WAIT_MS;
  let answer;
  do {
    answer = JSON.stringify(await ask());
    if (answer === JSON.stringify(wanted)) return;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  } while (Date.now() < end);
  throw new Error(`${what}: ${answer}, not ${JSON.stringify(wanted)}`);
}

/** Waits for something that happens once, in a story that would otherwise wait without end. */
export async function bounded(what, promise) {
  begins(`waiting for ${what}`);
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${WAIT_MS} ms`)), WAIT_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Chooses the operator's password by the link of a new house; the page shows the console then. */
export async function setUp(page, password) {
  await page.goto(process.env.NAGAYA_LINK);
  await page.fill("#password", password);
  await page.fill("#again", password);
  await page.click("button");
  await page.waitForURL("**/console");
}

/** The texts of all open pages, to explain why a story stopped. */
async function shown() {
  const pages = [...contexts].flatMap((context) => context.pages());
  const texts = pages.map(async (page) => {
    const text = await page.locator("body").innerText({ timeout: 5_000 }).catch((error) => error.message);
    return `${page.url()} shows:\n${text.replace(/\s+/g, " ").slice(0, 1_500)}`;
  });
  return Promise.all(texts);
}

/** Plays a story, and fails if anything went wrong on any page: a fault may be why the story stopped. */
export async function play(story) {
  try {
    await story();
  } catch (error) {
    faults.unshift(error.stack, ...(await shown()));
  }
  begins("closing the browser");
  // Of a shared browser, this ends only the story's contexts and the connection.
  await browser.close().catch((error) => fault(`closing the browser: ${error.message}`));
  if (faults.length > 0) throw new Error(faults.join("\n"));
}
