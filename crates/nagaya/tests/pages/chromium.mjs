// How Chromium is started, for all stories alike.

import { createRequire } from "node:module";
import { resolve } from "node:path";

/** Loads one of the packages that `cargo xtask test tools` has installed. */
export const load = createRequire(resolve(process.env.NAGAYA_PACKAGES, "package.json"));

export const { chromium } = load("playwright-core");

export const OPTIONS = {
  executablePath: "/usr/bin/chromium",
  // Not every machine gives it the user namespace for its sandbox; the pages are our own.
  args: ["--no-sandbox"],
};
