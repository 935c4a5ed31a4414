// @ts-check
// The ways to other languages keep what the address asks for beside the language.

for (const link of document.querySelectorAll("header.house a[hreflang]")) {
  const way = /** @type {HTMLAnchorElement} */ (link);
  way.addEventListener("click", () => {
    const here = new URL(location.href);
    here.searchParams.set("lang", way.hreflang);
    way.href = here.href;
  });
}
