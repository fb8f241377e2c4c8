// Decisions at a threshold, from counts of held-out rows that the server sent: matrix, rates and cost at once.
"use strict";
for (const cell of document.querySelectorAll("[data-share]")) cell.style.setProperty("--share", cell.dataset.share);

(() => {
  const element = document.getElementById("decision-facts");
  if (!element) return;
  const facts = JSON.parse(element.textContent), { positive, negative } = facts.above;
  const P = positive[0], N = negative[0], last = positive.length - 1, get = (id) => document.getElementById(id);
  const slider = get("threshold"), inputs = [[0, 0], [0, 1], [1, 0], [1, 1]].map(([i, j]) => get(`c${i}${j}`));
  const percent = (share) => (Number.isFinite(share) ? `${(100 * share).toFixed(1)}%` : "undefined");
  const count = (n) => n.toLocaleString("en-US", { maximumFractionDigits: facts.weighted ? 1 : 0 });

  const short = (value) => value.toLocaleString("en-US", { maximumSignificantDigits: 3 });

  const costs = () => inputs.map((input) => Number(input.value) || 0);
  const costAt = (k, [hit, falseAlarm, miss, rest]) =>
    (hit * positive[k] + falseAlarm * negative[k] + miss * (P - positive[k]) + rest * (N - negative[k])) / (P + N);
  const cheapest = () => {
    const given = costs();
    let best = 0;
    for (let k = 1; k <= last; k++) if (costAt(k, given) < costAt(best, given)) best = k;
    return best;
  };

  function fill(id, n, of) {
    const cell = get(id);
    cell.textContent = count(n);
    const small = document.createElement("small");
    small.textContent = percent(n / of);
    cell.append(small);
    cell.style.setProperty("--share", of ? n / of : 0);
  }

  function show() {
    const k = Number(slider.value), tp = positive[k], fp = negative[k];
    get("threshold-value").textContent = percent(k / last);
    slider.setAttribute("aria-valuetext", percent(k / last));
    fill("tp", tp, P); fill("fn", P - tp, P); fill("fp", fp, N); fill("tn", N - fp, N);
    get("accuracy").textContent = percent((tp + N - fp) / (P + N));
    get("precision").textContent = percent(tp / (tp + fp));
    get("recall").textContent = percent(tp / P);
    get("cost").textContent = short(costAt(k, costs()));
    const line = get("cost-curve").querySelector("line");
    for (const name of ["x1", "x2"]) line.setAttribute(name, (1000 * k) / last);
  }

  function draw() {
    const given = costs(), values = positive.map((_, k) => costAt(k, given));
    const low = Math.min(0, ...values), high = Math.max(...values, low + 1e-9);
    const points = values.map((value, k) => `${((1000 * k) / last).toFixed(1)},${(156 - (152 * (value - low)) / (high - low)).toFixed(1)}`);
    get("cost-curve").querySelector("polyline").setAttribute("points", points.join(" "));
    get("cost-range").textContent = ` (axis from ${short(low)} to ${short(high)})`;
    get("cheapest-note").textContent = `Cheapest on these rows: ${percent(cheapest() / last)}. A threshold chosen here looks slightly better than it is.`;
    show();
  }

  slider.addEventListener("input", show);
  for (const input of inputs) input.addEventListener("input", draw);
  get("cheapest").addEventListener("click", () => { slider.value = cheapest(); show(); });
  draw();
})();
