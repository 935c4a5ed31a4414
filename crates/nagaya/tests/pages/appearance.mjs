// How pages look: they keep nobody out, nothing is wider than the screen, and there is a picture of
// each to be looked at.

import { readFileSync } from "node:fs";
import { DESKTOP, SMALL, begins, fault, go, isDeep, person, until, visit } from "./browser.mjs";
import { load } from "./chromium.mjs";

const axe = readFileSync(load.resolve("axe-core/axe.min.js"), "utf8");

/** Every language in every width, and every theme with each of them. */
const LOOKS = [
  { lang: "ja", viewport: SMALL, theme: "light" },
  { lang: "en", viewport: DESKTOP, theme: "light" },
  { lang: "ja", viewport: DESKTOP, theme: "dark" },
  { lang: "en", viewport: SMALL, theme: "dark" },
];
/** Every language, every width and every theme once. */
const FEW_LOOKS = [LOOKS[0], { lang: "en", viewport: DESKTOP, theme: "dark" }];
const OTHER_THEME = { light: "dark", dark: "light" };

/** Waits until nothing is wider than the screen. */
export async function fits(page, name) {
  const wide = () => page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth));
  await until(`${name} to fit, in pixels too wide`, wide, 0);
}

/**
 * Nothing on a page keeps anybody out: no serious or critical fault by axe's rules, or by some of
 * them. axe takes the rim of letters that have one (`rimmed`) for their colour: those are judged
 * against their rim. `unseen` selects parts that are not judged.
 */
export async function isAccessible(page, name, { rules, rimmed, unseen } = {}) {
  begins(`looking at ${name}`);
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
  const violations = await page.evaluate(judgeInside, { rules, rimmed, unseen });
  for (const { impact, id, parts } of violations) {
    if (impact === "serious" || impact === "critical") fault(`${name}: ${id}, ${impact}: ${parts.join("; ")}`);
  }
}

/**
 * Each button of a page differs from the others by its name alone, and so does what opens a part of
 * it: readers of screens list them without what stands around them.
 */
export async function namesItsButtons(page) {
  begins("listing buttons");
  const names = await page.evaluate(() => {
    const shown = [...document.querySelectorAll("button, summary")].filter((one) => one.checkVisibility());
    return shown.map((one) => (one.ariaLabel ?? one.textContent).replace(/\s+/g, " ").trim());
  });
  const twice = names.filter((name, at) => names.indexOf(name) !== at);
  if (twice.length > 0) fault(`${page.url()}: several buttons are called ${[...new Set(twice)].join(", ")}`);
}

/** Runs in the page. */
async function judgeInside({ rules, rimmed, unseen }) {
  // Half-way between two colours, nothing has the contrast of either. Letters with a rim fly on.
  const isFlying = ({ effect }) => rimmed && effect.target.matches(rimmed);
  for (const running of document.getAnimations()) if (!isFlying(running)) running.finish();
  const options = { resultTypes: ["violations"], ...(rules && { runOnly: rules }) };
  const { violations } = await axe.run({ exclude: [rimmed, unseen].filter(Boolean) }, options);
  const part = ({ target, failureSummary }) => `${target}: ${failureSummary}`;
  const found = violations.map(({ impact, id, nodes }) => ({ impact, id, parts: nodes.map(part) }));
  for (const element of rimmed ? document.querySelectorAll(rimmed) : []) {
    const { color, webkitTextStrokeColor: rim } = getComputedStyle(element);
    const [letters, around] = [color, rim].map((text) => new axe.commons.color.Color().parseString(text));
    const contrast = axe.commons.color.getContrast(letters, around);
    if (contrast < 4.5) found.push({ impact: "serious", id: "rim", parts: [`${color} in ${rim}: ${contrast}`] });
  }
  return found;
}

/** Nobody looks further down, and a picture of all of /openapi takes many seconds and gigabytes. */
const TALLEST = 12_000;

/** Takes a picture of what is in the window, or of all the page. */
export async function picture(page, name, { fullPage = false } = {}) {
  begins(`taking the picture ${name}`);
  const path = `${process.env.NAGAYA_PICTURES}/${name}.png`;
  if (!fullPage) return page.screenshot({ path });
  const { width, height } = await page.evaluate(() => {
    const { scrollWidth: width, scrollHeight: height } = document.documentElement;
    return { width, height };
  });
  const clip = { x: 0, y: 0, width, height: Math.min(height, TALLEST) };
  return page.screenshot({ path, fullPage, clip });
}

/**
 * Looks at pages. Each `{ name, path, sign }` is visited; it is whole when it shows `sign`, or has it
 * with the `state` "attached". `refused` are statuses that belong to it. `enter(context)` is done
 * before the visit, `act(page)` after it, `check(page, viewport)` in every width. `rimmed` selects
 * letters with a rim, `alike` parts that are made like others of the page.
 *
 * Each page is looked at in both languages, widths and themes. A deep run judges every look and
 * takes a picture of it. The others judge each page in one of two looks, without what is `alike`,
 * and with the contrast of the other theme; and they see that it fits in both languages and widths.
 */
export async function everyLook(pages) {
  if (!isDeep) return Promise.all(FEW_LOOKS.map((look, nth) => lookOnce(pages, look, nth)));
  for (const half of [LOOKS.slice(0, 2), LOOKS.slice(2)]) {
    await Promise.all(half.map((look) => judge(pages, look)));
  }
}

const called = (name, { lang, theme, viewport }) => `${name}-${lang}-${theme}-${viewport.width}`;

/** Judges pages in one look, and takes a picture of each. */
export async function judge(pages, look) {
  await through(pages, look, async (page, { name, check, rimmed }) => {
    await fits(page, called(name, look));
    await check?.(page, look.viewport);
    await isAccessible(page, called(name, look), { rimmed });
    await picture(page, called(name, look), { fullPage: true });
  });
}

/** The first person judges the first page, the second the second, and so on in turns. */
async function lookOnce(pages, look, nth) {
  const other = FEW_LOOKS[1 - nth].viewport;
  await through(pages, look, async (page, { name, check, rimmed, alike: unseen }, index) => {
    await fits(page, called(name, look));
    await check?.(page, look.viewport);
    if (index % FEW_LOOKS.length === nth) {
      await isAccessible(page, called(name, look), { rimmed, unseen });
      await picture(page, called(name, look));
      const theme = OTHER_THEME[look.theme];
      await page.emulateMedia({ colorScheme: theme });
      await isAccessible(page, called(name, { ...look, theme }), { rules: ["color-contrast"], rimmed, unseen });
      await page.emulateMedia({ colorScheme: look.theme });
    }
    await page.setViewportSize(other);
    await fits(page, called(name, { ...look, viewport: other }));
    await check?.(page, other);
    await page.setViewportSize(look.viewport);
  });
}

/** Visits all pages as one person, in one page of the browser. */
async function through(pages, { lang, viewport, theme }, seen) {
  const context = await person(viewport, { lang, theme });
  let page;
  for (const [index, one] of pages.entries()) {
    const { path, sign, state = "visible", refused = [], enter, act } = one;
    await enter?.(context);
    if (page) {
      page.refused = refused;
      await go(page, path);
    } else page = await visit(context, path, ...refused);
    await page.waitForSelector(sign, { state });
    await act?.(page);
    await seen(page, one, index);
  }
  await context.close();
}
