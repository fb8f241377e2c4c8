// The map: cells at the pointer, and colors by any column.
(() => {
  "use strict";
  const facts = JSON.parse(document.getElementById("map-facts").textContent);
  const picture = document.getElementById("map-picture");
  const points = [...picture.querySelectorAll("circle")];
  const select = document.getElementById("map-color");
  const legend = document.getElementById("map-legend");
  const tip = document.getElementById("map-tip");
  const COLORS = 6;
  const shade = (share) => `color-mix(in srgb, var(--c1) ${Math.round(100 * share)}%, var(--c0))`;

  const entry = (color, words) => {
    const item = document.createElement("li");
    const swatch = document.createElement("i");
    swatch.style.background = color;
    item.append(swatch, words);
    legend.append(item);
  };

  const paint = (color) => {
    legend.replaceChildren();
    points.forEach((point, i) => {
      const value = color ? color.values[i] : 0;
      const unknown = value === null || value < 0;
      point.removeAttribute("class");
      if (unknown) point.style.fill = "var(--line)";
      else if (color && color.ends) point.style.fill = shade(value);
      else point.style.fill = `var(--c${value % COLORS})`;
    });
    if (!color) return;
    if (color.ends) {
      [0, 0.5, 1].forEach((share, i) => entry(shade(share), i === 1 ? "" : color.ends[i / 2]));
    } else {
      color.levels.forEach((level, k) => entry(`var(--c${k % COLORS})`, level));
    }
    if (color.values.some((value) => value === null || value < 0)) entry("var(--line)", "other or missing");
  };

  facts.colors.forEach((color, i) => select.add(new Option(color.name, String(i))));
  if (!facts.colors.length) select.parentElement.hidden = true;
  select.addEventListener("change", () => paint(facts.colors[Number(select.value)]));
  paint(facts.colors[0]);

  const show = (i, at) => {
    tip.replaceChildren();
    const head = document.createElement("b");
    head.textContent = `row ${facts.rows[i]}`;
    tip.append(head);
    facts.names.forEach((name, j) => {
      const line = document.createElement("div");
      line.textContent = `${name}: ${facts.cells[i][j]}`;
      tip.append(line);
    });
    tip.hidden = false;
    const room = tip.parentElement.getBoundingClientRect();
    const left = Math.min(at.clientX - room.left + 14, room.width - tip.offsetWidth - 4);
    tip.style.left = `${Math.max(0, left)}px`;
    tip.style.top = `${at.clientY - room.top + 14}px`;
  };
  picture.addEventListener("pointermove", (event) => {
    const i = points.indexOf(event.target);
    if (i < 0) tip.hidden = true;
    else show(i, event);
  });
  picture.addEventListener("pointerleave", () => { tip.hidden = true; });
})();
