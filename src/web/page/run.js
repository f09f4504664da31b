// A run, its clients, its groups and its roster.
import { isolated, make, number, percent, progressOf, sortedTable, sortSelect, statePill } from "./elements.js";
import { ask, Changes, Paced } from "./live.js";

const MOST_GROUP_LINKS = 60;

const pathOf = (run) => "/run/" + encodeURIComponent(run);
const apiOf = (run) => "/api/run/" + encodeURIComponent(run);
const crumb = (run) => ({ text: run, href: pathOf(run) });

function link(href, ...text) {
  return make("li", {}, make("a", { class: "button quiet", href }, ...text));
}

function linksOf(row) {
  const list = make("ul", { class: "links", "aria-label": "More of this run" }, link(pathOf(row.run) + "/clients", "Clients"));
  if (row.deployed) list.append(link(pathOf(row.run) + "/roster", "Who is connected"));
  const count = row.groups || 0;
  for (let group = 0; group < Math.min(count, MOST_GROUP_LINKS); ++group) list.append(link(`${pathOf(row.run)}/group/${group}`, "Group " + group));
  return list;
}

function headline(title, ...beside) {
  return make("div", { class: "headline" }, make("h1", { tabindex: "-1" }, isolated(title)), ...beside);
}

export async function showRun(main, run) {
  const state = make("span", { role: "status" });
  const links = make("nav", { "aria-label": "More of this run" });
  const body = make("div");
  let shape = "";

  function draw(found) {
    const row = found.row;
    const progress = progressOf(row);
    state.replaceChildren(statePill(row));
    if (progress) state.append(" ", progress, " ", make("span", { class: "caption" }, `round ${row.rounds} of ${row.rounds_planned}`));
    if (shape !== row.groups + "/" + row.deployed) {
      shape = row.groups + "/" + row.deployed;
      links.replaceChildren(linksOf(row));
    }
    MusterCharts.show(body, found.description);
  }

  const first = await ask(apiOf(run));
  main.replaceChildren(headline(run, state), links, body);
  draw(first);
  const again = new Paced(async () => draw(await ask(apiOf(run))));
  const changes = new Changes(run, 0, () => again.poke());
  return { title: run, trail: [{ text: run }], close: () => {
    changes.close();
    again.close();
    MusterCharts.clear(body);
  } };
}

function clientColumns(run, withGroup) {
  const columns = [
    { key: "name", label: "Client", kind: "name", cell: (row) => make("a", { href: `${pathOf(run)}/client/${row.client}` }, isolated(row.name)) },
    { key: "client", label: "Number", cell: (row) => number(row.client) },
    { key: "samples", label: "Samples", down: true, cell: (row) => number(row.samples) },
    { key: "group", label: "Group", cell: (row) => row.group === null ? "–" : make("a", { href: `${pathOf(run)}/group/${row.group}` }, String(row.group)) },
    { key: "trained", label: "Trained", down: true, cell: (row) => number(row.trained) },
    { key: "dropped", label: "Dropped", down: true, cell: (row) => number(row.dropped) },
    { key: "accuracy", label: "Accuracy", down: true, cell: (row) => percent(row.accuracy) },
  ];
  return withGroup ? columns : columns.filter((column) => column.key !== "group");
}

export async function showClients(main, run) {
  const columns = clientColumns(run, true);
  const view = { filter: "", order: { key: "client", down: false }, from: 0, count: 100 };
  const filter = make("input", { type: "search", id: "filter", autocomplete: "off", spellcheck: "false" });
  const count = make("p", { class: "spread", role: "status" });
  const phoneSort = make("div");
  const place = make("div");
  const pager = make("div", { class: "bar" });

  async function draw() {
    const query = new URLSearchParams({ filter: view.filter, sort: view.order.key, down: view.order.down ? "1" : "0", from: view.from, count: view.count });
    const found = await ask(`${apiOf(run)}/clients?${query}`);
    const focused = document.activeElement && document.activeElement.dataset.key;
    count.textContent = found.found === found.total ? `${found.total} clients` : `${found.found} of ${found.total} clients`;
    phoneSort.replaceChildren(sortSelect(columns, view.order, sorted));
    if (found.total === 0) {
      place.replaceChildren(make("div", { class: "sheet empty" }, make("p", {}, "The table of the clients is written when the run saves a checkpoint or ends.")));
    } else {
      place.replaceChildren(sortedTable("Clients", columns, found.rows, view.order, sorted));
    }
    const again = focused && place.querySelector(`[data-key="${focused}"]`);
    if (again) again.focus();
    const go = (text, from, possible) => make("button", { type: "button", class: "button quiet", disabled: !possible, click: () => {
      view.from = from;
      draw();
    } }, text);
    const last = Math.min(view.from + view.count, found.found);
    pager.replaceChildren(...(found.found <= view.count ? [] : [
      go("Earlier", Math.max(0, view.from - view.count), view.from > 0), go("Later", view.from + view.count, last < found.found),
      make("span", { class: "spread" }, `${view.from + 1} to ${last}`)]));
  }

  function sorted(order) {
    Object.assign(view, { order, from: 0 });
    draw();
  }

  let typing = 0;
  filter.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      Object.assign(view, { filter: filter.value, from: 0 });
      draw();
    }, 120);
  });
  main.replaceChildren(headline("Clients"),
    make("div", { class: "bar", role: "search" }, make("label", { class: "grow", for: "filter" }, "Filter by name or number", filter), phoneSort, count), place, pager);
  await draw();
  const again = new Paced(draw);
  const changes = new Changes(run, 0, () => again.poke());
  return { title: "Clients", trail: [crumb(run), { text: "Clients" }], close: () => {
    changes.close();
    again.close();
  } };
}

// A page that is drawn of one description and drawn anew when the run changes.
async function showDescribed(main, run, path, trail, links, extra) {
  const body = make("div");
  const beside = make("div");
  const title = make("div");
  function draw(found) {
    if (title.dataset.text !== found.title) {
      title.dataset.text = found.title;
      title.replaceChildren(headline(found.title), links(found));
    }
    beside.replaceChildren(...extra(found));
    MusterCharts.show(body, found);
  }
  const first = await ask(path);
  main.replaceChildren(title, body, beside);
  draw(first);
  const again = new Paced(async () => draw(await ask(path)));
  const changes = new Changes(run, 0, () => again.poke());
  return { title: first.title, trail: [crumb(run), ...trail(first)], close: () => {
    changes.close();
    again.close();
    MusterCharts.clear(body);
  } };
}

export function showClient(main, run, client) {
  return showDescribed(main, run, `${apiOf(run)}/client/${client}`,
    (found) => [{ text: "Clients", href: pathOf(run) + "/clients" }, { text: found.title }],
    (found) => make("ul", { class: "links", "aria-label": "More" }, found.group === null ? [] : link(`${pathOf(run)}/group/${found.group}`, "Its group: " + found.group)),
    () => []);
}

export function showGroup(main, run, group) {
  let order = { key: "client", down: false };
  const others = (found) => {
    const links = make("ul", { class: "links", "aria-label": "Other groups" });
    if (found.group > 0) links.append(link(`${pathOf(run)}/group/${found.group - 1}`, "Group " + (found.group - 1)));
    if (found.group + 1 < found.groups) links.append(link(`${pathOf(run)}/group/${found.group + 1}`, "Group " + (found.group + 1)));
    return links;
  };
  return showDescribed(main, run, `${apiOf(run)}/group/${group}`, (found) => [{ text: found.title }], others, (found) => {
    const columns = clientColumns(run, false);
    const place = make("div");
    const draw = () => {
      const sign = order.down ? -1 : 1;
      const rows = [...found.members].sort((a, b) => {
        const x = a[order.key];
        const y = b[order.key];
        if (x === y) return a.client - b.client;
        if (x === null) return 1;
        if (y === null) return -1;
        return x < y ? -sign : sign;
      });
      place.replaceChildren(sortedTable("Clients of the group", columns, rows, order, (wanted) => {
        order = wanted;
        draw();
        const again = place.querySelector(`[data-key="${wanted.key}"]`);
        if (again) again.focus();
      }));
    };
    draw();
    return [make("h2", {}, "Its clients"), place];
  });
}

function since(row) {
  return row.since_s ? new Date(1000 * row.since_s).toISOString().replace("T", " ").slice(0, 19) : "–";
}

export async function showRoster(main, run) {
  const count = make("p", { role: "status" });
  const place = make("div");
  const columns = [
    { key: "client", label: "Client", kind: "name", cell: (row) => make("a", { href: `${pathOf(run)}/client/${row.client}` }, isolated(row.name || "client " + row.client)) },
    { key: "here", label: "State", kind: "left", cell: (row) => make("span", { class: "pill " + (row.here ? "good" : "warn") }, row.here ? "connected" : row.peer ? "gone" : "never came") },
    { key: "peer", label: "Through", kind: "left", cell: (row) => row.peer || "–" },
    { key: "since", label: "Since (UTC)", kind: "left", cell: since },
    { key: "why", label: "Why it went", kind: "left", cell: (row) => row.why || "–" },
    { key: "drops", label: "Rounds dropped", cell: (row) => row.drops ? number(row.drops) : "–" },
    { key: "last", label: "Last dropped", kind: "left", cell: (row) => row.last_drop_round ? `round ${row.last_drop_round}: ${row.last_drop_reason}` : "–" },
  ].map((column) => Object.assign(column, { plain: false }));
  let order = { key: "", down: false };
  const value = { client: (row) => row.client, here: (row) => (row.here ? 1 : 0), peer: (row) => row.peer, since: (row) => row.since_s, why: (row) => row.why, drops: (row) => row.drops, last: (row) => row.last_drop_round };
  let found;

  function draw() {
    if (!found.deployed) {
      place.replaceChildren(make("div", { class: "sheet empty" }, make("p", {}, "This run is a simulation: its clients are not connected by a network.")));
      return;
    }
    const told = `${found.here} of ${found.roster} clients are connected` + (found.live ? "" : ", as the run's ledger tells");
    if (count.textContent !== told) count.textContent = told;
    const sign = order.down ? -1 : 1;
    const rows = order.key ? [...found.rows].sort((a, b) => {
      const [x, y] = [value[order.key](a), value[order.key](b)];
      return x === y ? a.client - b.client : x < y ? -sign : sign;
    }) : found.rows;
    const focused = place.contains(document.activeElement) && document.activeElement.dataset.key;
    place.replaceChildren(sortedTable("Roster", columns, rows, order, (wanted) => {
      order = wanted;
      draw();
    }));
    if (found.known > rows.length) place.append(make("p", { class: "caption" }, `The first ${rows.length} of ${found.known}, those who are gone first.`));
    const again = focused && place.querySelector(`[data-key="${focused}"]`);
    if (again) again.focus();
  }

  async function read() {
    found = await ask(apiOf(run) + "/roster");
    draw();
  }

  found = await ask(apiOf(run) + "/roster");
  main.replaceChildren(headline("Who is connected"), count, place);
  draw();
  const again = new Paced(read);
  const changes = new Changes(run, 0, () => again.poke());
  // Between two rounds clients come and go, too.
  const timer = setInterval(() => document.hidden || again.poke(), 2000);
  return { title: "Who is connected", trail: [crumb(run), { text: "Who is connected" }], close: () => {
    clearInterval(timer);
    changes.close();
    again.close();
  } };
}
