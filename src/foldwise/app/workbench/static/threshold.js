// Decisions at a threshold, from counts of held-out rows that the server sent: matrix, rates and cost at once.
"use strict";
const keptCosts = {};  // as typed, for when another class is chosen

function showShares(within) {
  for (const cell of within.querySelectorAll("[data-share]")) cell.style.setProperty("--share", cell.dataset.share);
}

// For each threshold k: decided[k][truth][label] is the weight of rows. A row of level l has label 0 up to threshold l.
function decideAll({ labels, steps, cells }) {
  const zero = () => labels.map(() => labels.map(() => 0)), changes = Array.from({ length: steps + 2 }, zero), decided = [];
  for (const [truth, other, level, weight] of cells) {
    changes[0][truth][0] += weight;
    changes[level + 1][truth][0] -= weight;
    changes[level + 1][truth][other] += weight;
  }
  for (let k = 0; k <= steps; k++) decided.push(changes[k].map((row, i) => row.map((x, j) => x + (k ? decided[k - 1][i][j] : 0))));
  return decided;
}

function startDecisions() {
  const element = document.getElementById("decision-facts");
  if (!element) return;
  const facts = JSON.parse(element.textContent), { labels, steps } = facts, decided = decideAll(facts);
  const get = (id) => document.getElementById(id), sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  const slider = get("threshold"), total = sum(decided[0].map(sum));
  const inputs = labels.map((_, i) => labels.map((_, j) => get(`c-${i}-${j}`)));
  const percent = (share) => (Number.isFinite(share) ? `${(100 * share).toFixed(1)}%` : "undefined");
  const count = (n) => n.toLocaleString("en-US", { maximumFractionDigits: facts.weighted ? 1 : 0 });
  const short = (value) => value.toLocaleString("en-US", { maximumSignificantDigits: 3 });
  const key = (i, j) => JSON.stringify([labels[i], labels[j]]);

  const costs = () => inputs.map((row) => row.map((input) => Number(input.value) || 0));
  const costAt = (k, given) => sum(decided[k].map((row, i) => sum(row.map((n, j) => n * given[j][i])))) / total;
  const cheapest = () => {
    const given = costs();
    let best = 0;
    for (let k = 1; k <= steps; k++) if (costAt(k, given) < costAt(best, given) - 1e-12) best = k;
    return best;
  };

  function fill(i, j, n, of) {
    const cell = get(`m-${i}-${j}`), small = document.createElement("small");
    cell.textContent = count(n);
    small.textContent = percent(n / of);
    if (labels.length < 6) cell.append(small);
    cell.style.setProperty("--share", of ? n / of : 0);
  }

  function show() {
    const k = Number(slider.value), matrix = decided[k];
    get("threshold-value").textContent = percent(k / steps);
    slider.setAttribute("aria-valuetext", percent(k / steps));
    matrix.forEach((row, i) => row.forEach((n, j) => fill(i, j, n, sum(row))));
    get("accuracy").textContent = percent(sum(matrix.map((row, i) => row[i])) / total);
    get("precision").textContent = percent(matrix[0][0] / sum(matrix.map((row) => row[0])));
    get("recall").textContent = percent(matrix[0][0] / sum(matrix[0]));
    get("cost").textContent = short(costAt(k, costs()));
    const line = get("cost-curve").querySelector("line");
    for (const name of ["x1", "x2"]) line.setAttribute(name, (1000 * k) / steps);
  }

  function draw() {
    const given = costs(), values = decided.map((_, k) => costAt(k, given)), best = cheapest();
    const low = Math.min(0, ...values), high = Math.max(...values, low + 1e-9);
    const points = values.map((value, k) => `${((1000 * k) / steps).toFixed(1)},${(156 - (152 * (value - low)) / (high - low)).toFixed(1)}`);
    get("cost-curve").querySelector("polyline").setAttribute("points", points.join(" "));
    get("cost-title").textContent = `Mean cost per row at each threshold: ${short(values[0])} at 0%, ${short(values[best])} at ${percent(best / steps)}, which is the lowest, and ${short(values[steps])} at 100%.`;
    get("cost-range").textContent = ` (axis from ${short(low)} to ${short(high)})`;
    get("cheapest-note").textContent = `Cheapest on these rows: ${percent(best / steps)}. A threshold chosen here looks slightly better than it is.`;
    show();
  }

  inputs.forEach((row, i) => row.forEach((input, j) => {
    if (key(i, j) in keptCosts) input.value = keptCosts[key(i, j)];
    input.addEventListener("input", () => { keptCosts[key(i, j)] = input.value; draw(); });
  }));
  slider.addEventListener("input", show);
  get("cheapest").addEventListener("click", () => { slider.value = cheapest(); show(); });
  draw();
}

showShares(document);
startDecisions();
document.addEventListener("htmx:afterSettle", (event) => { if (event.target.id === "decisions") startDecisions(); });
