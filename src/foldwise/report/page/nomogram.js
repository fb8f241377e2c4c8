// The nomogram: sums of what cells say of each class, as the model itself adds them. All text is set as text.
(() => {
  "use strict";
  const facts = JSON.parse(document.getElementById("nomogram-facts").textContent);
  const room = document.getElementById("nomogram-room");
  const SVG = "http://www.w3.org/2000/svg";
  const FIRST = 12; // columns that are not folded, where there are many more
  const EDGE = Math.log(1000); // what says more than that lies at the edge
  const classes = facts.classes;
  const columns = facts.columns;
  const inverse = facts.inverse || 1; // of the temperature that calibrates the probabilities
  const logs = (list) => list.map((value) => (value === null ? -Infinity : inverse * value));
  const prior = logs(facts.log_prior);
  const rest = logs(facts.rest || classes.map(() => 0));
  const tables = columns.map((column) => ({ cells: column.log.map(logs), missing: logs(column.missing) }));
  const chosen = columns.map((column) => (column.start === null ? -1 : column.start));
  let focus = 0;

  const evidence = (j, cell) => (cell < 0 ? tables[j].missing : tables[j].cells[cell]);

  // the posterior of every class: softmax over the sums; where no class is possible the prior answers
  function posterior() {
    let scores = prior.map((log, c) => log + rest[c]);
    columns.forEach((_, j) => evidence(j, chosen[j]).forEach((log, c) => (scores[c] += log)));
    let top = Math.max(...scores);
    if (top === -Infinity) {
      scores = prior;
      top = Math.max(...prior);
    }
    const shares = scores.map((score) => Math.exp(score - top));
    const total = shares.reduce((a, b) => a + b, 0);
    return shares.map((share) => share / total);
  }

  // log-odds of the class in focus against the others' mean: of two classes the log-odds themselves
  function speaks(log) {
    const others = log.filter((_, c) => c !== focus);
    const mean = others.reduce((a, b) => a + b, 0) / Math.max(1, others.length);
    const gap = log[focus] - mean;
    return Number.isNaN(gap) ? 0 : gap;
  }

  function make(name, attributes, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  function draw(name, attributes, title) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (title !== undefined) {
      const words = document.createElementNS(SVG, "title");
      words.textContent = title;
      node.append(words);
    }
    return node;
  }

  const cellName = (j, cell) => {
    if (cell < 0) return "unknown";
    const value = columns[j].cells[cell];
    return typeof value === "number" ? String(Number(value.toPrecision(6))) : value;
  };
  const times = (gap) => {
    if (!Number.isFinite(gap)) return gap > 0 ? "rules out all others" : "rules it out";
    const factor = Math.exp(Math.abs(gap));
    const shown = factor >= 100 ? factor.toFixed(0) : factor.toPrecision(2);
    return gap >= 0 ? `× ${shown}` : `÷ ${shown}`;
  };

  // how far the axes reach: as far as the cells say, within the edge
  let reach = 1;
  const place = (gap) => `${50 + 48 * Math.max(-1, Math.min(1, gap / reach))}%`;
  function measure() {
    let most = Math.log(10);
    tables.forEach((table) =>
      [...table.cells, table.missing].forEach((log) => {
        const gap = Math.abs(speaks(log));
        if (Number.isFinite(gap)) most = Math.max(most, gap);
      }),
    );
    reach = Math.min(most, EDGE);
  }

  // posterior bars: each is a button that puts its class in focus
  const bars = classes.map((name, c) => {
    const fill = make("span", { class: "fill" });
    const share = make("span", { class: "figure" });
    const row = make("button", { type: "button", class: "posterior-row", "data-class": name });
    row.append(make("span", { class: "name" }, name), make("span", { class: "track" }, fill), share);
    row.addEventListener("click", () => {
      focus = c;
      redraw();
    });
    return { row, fill, share };
  });

  const scale = draw("svg", { width: "100%", height: 20, "aria-hidden": "true", class: "strip scale" });
  const scaleWords = make("span", { class: "name" });

  function choose(j, cell) {
    chosen[j] = cell;
    lines[j].control.show();
    lines[j].strip();
    answer();
  }

  function numberControl(j, label) {
    const last = columns[j].cells.length - 1;
    const slider = make("input", { type: "range", min: 0, max: Math.max(0, last), step: 1, "aria-label": label });
    const shown = make("output", {});
    const unknown = make("input", { type: "checkbox", "aria-label": `${label} unknown` });
    const box = make("label", { class: "unknown" }, unknown, "unknown");
    let kept = chosen[j] < 0 ? Math.floor(last / 2) : chosen[j];
    slider.addEventListener("input", () => choose(j, Number(slider.value)));
    unknown.addEventListener("change", () => choose(j, unknown.checked ? -1 : kept));
    if (last < 0) slider.disabled = unknown.disabled = true;
    const show = () => {
      if (chosen[j] >= 0) kept = chosen[j];
      slider.value = kept;
      slider.setAttribute("aria-valuetext", cellName(j, chosen[j]));
      unknown.checked = chosen[j] < 0;
      shown.textContent = chosen[j] < 0 ? "–" : cellName(j, chosen[j]);
      slider.classList.toggle("off", chosen[j] < 0);
    };
    return { node: make("span", { class: "control" }, slider, shown, box), show };
  }

  function categoryControl(j, label) {
    const select = make("select", { "aria-label": label });
    columns[j].cells.forEach((cell, i) => select.append(make("option", { value: i }, cell)));
    select.append(make("option", { value: -1 }, "unknown"));
    select.addEventListener("change", () => choose(j, Number(select.value)));
    return { node: make("span", { class: "control" }, select), show: () => (select.value = chosen[j]) };
  }

  function line(j) {
    const column = columns[j];
    const control = column.kind === "number" ? numberControl(j, column.name) : categoryControl(j, column.name);
    const picture = draw("svg", { width: "100%", height: 24, class: "strip", "aria-hidden": "true" });
    const figure = make("span", { class: "figure" });
    const name = make("span", { class: "name", title: column.name }, column.name);
    const row = make("div", { class: "axis-row", "data-column": column.name });
    row.append(name, control.node, picture, figure);
    const strip = () => {
      const gaps = tables[j].cells.map(speaks);
      const marks = [draw("line", { x1: "50%", x2: "50%", y1: 0, y2: 24, class: "reference" })];
      const finite = gaps.map((gap) => Math.max(-reach, Math.min(reach, gap)));
      if (gaps.length) {
        const ends = { x1: place(Math.min(...finite)), x2: place(Math.max(...finite)), y1: 12, y2: 12 };
        marks.push(draw("line", { ...ends, class: "axis" }));
      }
      gaps.forEach((gap, i) => {
        const words = `${column.name} = ${cellName(j, i)}: ${times(gap)}`;
        const small = column.kind === "number" ? 2.2 : 4;
        const mark = draw("circle", { cx: place(gap), cy: 12, r: small, class: "level", "data-cell": i }, words);
        mark.addEventListener("click", () => choose(j, i));
        marks.push(mark);
      });
      const gap = speaks(evidence(j, chosen[j]));
      const words = `${column.name} ${chosen[j] < 0 ? "unknown" : `= ${cellName(j, chosen[j])}`}: ${times(gap)}`;
      const kind = gap >= 0 ? "for" : "against";
      marks.push(draw("line", { x1: "50%", x2: place(gap), y1: 12, y2: 12, class: `evidence ${kind}` }));
      marks.push(draw("circle", { cx: place(gap), cy: 12, r: 6, class: `picked ${kind}` }, words));
      picture.replaceChildren(...marks);
      figure.textContent = times(gap);
    };
    return { row, control, strip };
  }

  const lines = columns.map((_, j) => line(j));

  function drawScale() {
    const marks = [draw("line", { x1: "2%", x2: "98%", y1: 19.5, y2: 19.5, class: "axis" })];
    for (let power = -3; power <= 3; power++) {
      const gap = power * Math.log(10);
      if (Math.abs(gap) > reach + 1e-9) continue;
      const words = power === 0 ? "even" : `${power > 0 ? "×" : "÷"} ${10 ** Math.abs(power)}`;
      const text = draw("text", { x: place(gap), y: 12, class: "tick middle" });
      text.textContent = words;
      marks.push(text, draw("line", { x1: place(gap), x2: place(gap), y1: 15, y2: 20, class: "axis" }));
    }
    scale.replaceChildren(...marks);
    scaleWords.textContent = `odds of ${classes[focus]}`;
  }

  function answer() {
    posterior().forEach((p, c) => {
      bars[c].fill.style.width = `${100 * p}%`;
      bars[c].share.textContent = `${(100 * p).toFixed(1)}%`;
      bars[c].row.dataset.probability = p;
      bars[c].row.setAttribute("aria-pressed", c === focus);
    });
  }

  function redraw() {
    measure();
    drawScale();
    lines.forEach((entry) => {
      entry.control.show();
      entry.strip();
    });
    answer();
  }

  function all(cells) {
    cells.forEach((cell, j) => (chosen[j] = cell));
    redraw();
  }

  const typical = make("button", { type: "button" }, "a typical row");
  typical.addEventListener("click", () => all(columns.map((column) => (column.start === null ? -1 : column.start))));
  const nothing = make("button", { type: "button" }, "all unknown");
  nothing.addEventListener("click", () => all(columns.map(() => -1)));

  const head = make("div", { class: "axis-row head" }, scaleWords, make("span"), scale, make("span"));
  const panel = make("div", { class: "posterior", role: "group", "aria-label": "probability of each class" });
  panel.append(...bars.map((bar) => bar.row));
  room.replaceChildren(panel, make("p", { class: "start" }, "Start from ", typical, nothing), head);
  const shown = lines.length <= FIRST + 4 ? lines.length : FIRST;
  room.append(...lines.slice(0, shown).map((entry) => entry.row));
  if (lines.length > shown) {
    const more = make("details", {}, make("summary", {}, `${lines.length - shown} less informative columns`));
    more.append(...lines.slice(shown).map((entry) => entry.row));
    room.append(more);
  }
  const first = posterior();
  focus = first.indexOf(Math.max(...first));
  redraw();
})();
