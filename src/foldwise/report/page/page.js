// What is folded is printed too, and a table that is wider than the page says that it scrolls.
(() => {
  "use strict";
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const fold of closed) fold.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const fold of closed) fold.open = false;
  });

  const mark = (wide) => {
    const scrolls = wide.scrollWidth > wide.clientWidth + 1;
    wide.classList.toggle("scrolls", scrolls);
    if (scrolls) wide.tabIndex = 0; // so that keys can scroll it
    else wide.removeAttribute("tabindex");
  };
  const watcher = new ResizeObserver((entries) => entries.forEach((entry) => mark(entry.target)));
  const watch = () => document.querySelectorAll(".wide").forEach((wide) => watcher.observe(wide));
  document.addEventListener("tables-replaced", watch);
  watch();
})();
