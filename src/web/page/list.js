// The list of runs: filtered, sorted, ticked to be compared, and up to date.
import { bytes, isolated, make, number, percent, progressOf, seconds, sortedTable, sortSelect, stateOf, statePill, tableRow } from "./elements.js";
import { ask, Changes } from "./live.js";

const MOST_SHOWN = 500;
const kept = { filter: "", state: "", order: { key: "begun", down: true }, ticked: new Set() }; // while the page is open

function runLink(row) {
  const cell = make("div", {}, make("a", { href: "/run/" + encodeURIComponent(row.run) }, isolated(row.run)));
  for (const tag of row.tags) cell.append(make("span", { class: "tag" }, isolated(tag)));
  if (row.fault) cell.append(make("span", { class: "tag", title: row.fault }, "not all of it can be read"));
  return cell;
}

function stateCell(row) {
  const cell = make("span", {}, statePill(row));
  const progress = progressOf(row);
  if (progress) cell.append(" ", progress);
  return cell;
}

const sortValue = {
  run: (row) => row.run, recipe: (row) => row.recipe, seed: (row) => row.seed, state: (row) => stateOf(row)[0],
  rounds: (row) => row.rounds, accuracy: (row) => row.accuracy, best: (row) => row.best, loss: (row) => row.loss,
  clients: (row) => row.clients, groups: (row) => row.groups, bytes: (row) => row.bytes, wall_s: (row) => row.wall_s, begun: (row) => row.begun,
};

function compare(order) {
  const value = sortValue[order.key];
  const sign = order.down ? -1 : 1;
  return (a, b) => {
    const x = value(a);
    const y = value(b);
    if (x === y) return a.run < b.run ? -1 : 1;
    if (x === null) return 1; // what is not known comes last
    if (y === null) return -1;
    return x < y ? -sign : sign;
  };
}

export async function showList(main) {
  const rows = new Map();
  const first = await ask("/api/runs");
  for (const row of first.runs) rows.set(row.run, row);

  const filter = make("input", { type: "search", id: "filter", autocomplete: "off", spellcheck: "false" });
  filter.value = kept.filter;
  const state = make("select", { id: "state" });
  for (const [value, text] of [["", "all"], ["running", "running"], ["over", "finished"], ["unfinished", "unfinished"]]) {
    state.append(make("option", { value, selected: value === kept.state }, text));
  }
  const count = make("p", { class: "spread", role: "status" });
  const compareLink = make("a", { class: "button", id: "compare" });
  const phoneSort = make("div");
  const place = make("div");
  main.replaceChildren(
    make("div", { class: "headline" }, make("h1", { tabindex: "-1" }, "Runs"), make("span", { class: "caption" }, isolated(first.out))),
    make("div", { class: "bar", role: "search" },
      make("label", { class: "grow", for: "filter" }, "Filter by name, method, tag or signature", filter),
      make("label", { for: "state" }, "State", state), phoneSort, compareLink, count), place);

  function tick(row) {
    const box = make("input", { type: "checkbox", "aria-label": "Compare " + row.run, "data-run": row.run });
    box.checked = kept.ticked.has(row.run);
    box.addEventListener("change", () => {
      if (box.checked) kept.ticked.add(row.run);
      else kept.ticked.delete(row.run);
      showTicked();
    });
    return box;
  }

  const columns = [
    { key: "tick", label: "Compare", plain: true, cell: tick },
    { key: "run", label: "Run", kind: "name", cell: runLink },
    { key: "recipe", label: "Method", kind: "left short", cell: (row) => row.recipe },
    { key: "seed", label: "Seed", cell: (row) => number(row.seed) },
    { key: "state", label: "State", kind: "left", cell: stateCell },
    { key: "rounds", label: "Rounds", down: true, cell: (row) => row.condition === "over" ? number(row.rounds) : `${row.rounds} of ${row.rounds_planned}` },
    { key: "accuracy", label: "Accuracy", down: true, cell: (row) => percent(row.accuracy) },
    { key: "best", label: "Best", down: true, cell: (row) => percent(row.best) },
    { key: "loss", label: "Loss", kind: "extra", cell: (row) => row.loss === null ? "–" : row.loss.toFixed(4) },
    { key: "clients", label: "Clients", down: true, cell: (row) => number(row.clients) },
    { key: "groups", label: "Groups", down: true, cell: (row) => number(row.groups) },
    { key: "bytes", label: "Sent", kind: "extra", down: true, cell: (row) => bytes(row.bytes) },
    { key: "wall_s", label: "Time", down: true, cell: (row) => seconds(row.wall_s) },
    { key: "begun", label: "Begun (UTC)", kind: "left", down: true, cell: (row) => row.begun },
  ];

  function showTicked() {
    for (const id of kept.ticked) if (!rows.has(id)) kept.ticked.delete(id);
    const ticked = [...kept.ticked];
    compareLink.textContent = ticked.length < 2 ? "Tick runs to compare them" : `Compare ${ticked.length} runs`;
    if (ticked.length < 2) {
      compareLink.removeAttribute("href");
      compareLink.setAttribute("aria-disabled", "true");
    } else {
      compareLink.href = "/compare?runs=" + ticked.map(encodeURIComponent).join("/");
      compareLink.removeAttribute("aria-disabled");
    }
  }

  function wanted() {
    const words = kept.filter.toLowerCase().split(/\s+/).filter(Boolean);
    return [...rows.values()].filter((row) => {
      if (kept.state && row.condition !== kept.state) return false;
      const text = [row.run, row.recipe, row.signature, row.stopped, "seed" + row.seed, ...row.tags].join("\n").toLowerCase();
      return words.every((word) => text.includes(word));
    }).sort(compare(kept.order));
  }

  function sorted(order) {
    kept.order = order;
    draw();
  }

  // Where the same runs are shown in the same order, only cells that differ are replaced: what is being clicked stays.
  function patch(shown) {
    const lines = place.querySelectorAll("tbody tr");
    shown.forEach((row, i) => {
      if (drawn.rows[i] === row) return;
      const fresh = [...tableRow(columns, row).children];
      [...lines[i].children].forEach((cell, j) => {
        if (!cell.isEqualNode(fresh[j])) cell.replaceWith(fresh[j]);
      });
    });
  }

  let drawn = { key: "", rows: [] };

  // What had the focus has it again: the table is made anew.
  function draw() {
    const active = document.activeElement;
    const focused = place.contains(active) ? [active.dataset.key, active.dataset.run, active.getAttribute("href")] : null;
    const found = wanted();
    const shown = found.slice(0, MOST_SHOWN);
    const running = [...rows.values()].filter((row) => row.condition === "running").length;
    const told = `${found.length === rows.size ? rows.size : found.length + " of " + rows.size} runs` + (running ? `, ${running} running` : "");
    if (count.textContent !== told) count.textContent = told;
    const key = JSON.stringify([kept.order, shown.length === found.length, shown.map((row) => row.run)]);
    const same = key === drawn.key && shown.length > 0;
    if (same) patch(shown);
    drawn = { key, rows: shown };
    if (same) return showTicked();
    phoneSort.replaceChildren(sortSelect(columns, kept.order, sorted));
    if (rows.size === 0) {
      place.replaceChildren(make("div", { class: "sheet empty" }, make("p", {}, "There are no runs here yet. Start one, and it appears by itself:"), make("p", {}, make("code", {}, "muster run fedavg"))));
    } else if (found.length === 0) {
      place.replaceChildren(make("div", { class: "sheet empty" }, make("p", {}, "No run is like this.")));
    } else {
      place.replaceChildren(sortedTable("Runs", columns, shown, kept.order, sorted));
      if (found.length > shown.length) place.append(make("p", { class: "caption" }, `The first ${shown.length} of ${found.length}; filter to see others.`));
    }
    if (focused) {
      const again = [...place.querySelectorAll("button, input, a")].find((one) =>
        focused[0] ? one.dataset.key === focused[0] : focused[1] ? one.dataset.run === focused[1] : one.getAttribute("href") === focused[2]);
      if (again) again.focus({ preventScroll: true });
    }
    showTicked();
  }

  filter.addEventListener("input", () => {
    kept.filter = filter.value;
    draw();
  });
  state.addEventListener("change", () => {
    kept.state = state.value;
    draw();
  });
  draw();

  const changes = new Changes("", first.sequence, async (news) => {
    const all = news || await ask("/api/runs");
    if (!news || news.again) rows.clear();
    for (const row of all.runs) rows.set(row.run, row);
    for (const id of all.gone || []) rows.delete(id);
    draw();
  });
  return { title: "Runs", trail: [], close: () => changes.close() };
}
