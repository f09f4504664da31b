// Elements, tables and numbers of the page. Text that comes from runs only ever becomes text.

export function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

// A text of unknown direction, which must not turn what stands beside it.
export function isolated(text) {
  return make("bdi", {}, text);
}

export function percent(share) {
  return share === null || share === undefined ? "–" : (100 * share).toFixed(2) + " %";
}

export function number(value) {
  return value === null || value === undefined ? "–" : MusterCharts.numberText(value, "count");
}

export function bytes(value) {
  return MusterCharts.numberText(value, "bytes");
}

export function seconds(value) {
  if (value < 100) return Number(value.toPrecision(3)) + " s";
  const whole = Math.round(value);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return parts[0] ? `${parts[0]} h ${parts[1]} min` : `${parts[1]} min ${parts[2]} s`;
}

// What a run is doing, in a word, and how that is to be seen.
export function stateOf(row) {
  if (row.condition === "running") return ["running", "run"];
  if (row.stopped === "diverged") return ["diverged", "bad"];
  if (row.condition === "over") return [row.stopped === "rounds" ? "done" : row.stopped || "done", "good"];
  return [row.stopped || "unfinished", "warn"];
}

export function statePill(row) {
  const [word, kind] = stateOf(row);
  return make("span", { class: "pill " + kind }, word);
}

export function progressOf(row) {
  if (row.condition !== "running" || !row.rounds_planned) return null;
  return make("progress", { max: row.rounds_planned, value: row.rounds, "aria-label": `Round ${row.rounds} of ${row.rounds_planned}` });
}

// A table whose columns sort. `columns`: {key, label, cell(row) -> Node or text, kind: "name" | "left" | "", down: sorts
// from the largest at first}. `order`: {key, down}; `sorted(order)` is called when the reader wants another.
export function sortedTable(caption, columns, rows, order, sorted) {
  const head = make("tr");
  for (const column of columns) {
    const active = order && order.key === column.key;
    const th = make("th", { scope: "col", class: column.kind, "aria-sort": active ? (order.down ? "descending" : "ascending") : null });
    if (column.plain) th.append(make("span", { class: "hidden" }, column.label));
    else {
      th.append(make("button", {
        type: "button", class: "sort", "data-key": column.key,
        click: () => sorted({ key: column.key, down: active ? !order.down : Boolean(column.down) }),
      }, column.label));
    }
    head.append(th);
  }
  const body = make("tbody");
  for (const row of rows) body.append(tableRow(columns, row));
  return make("div", { class: "sheet cards", tabindex: "0", role: "region", "aria-label": caption },
    make("table", {}, make("caption", { class: "hidden" }, caption), make("thead", {}, head), body));
}

export function tableRow(columns, row) {
  const line = make("tr");
  for (const column of columns) {
    const content = column.cell(row);
    const blank = content === "–" || content === "";
    line.append(make(column.kind === "name" ? "th" : "td", {
      scope: column.kind === "name" ? "row" : null,
      class: [column.kind, blank ? "blank" : ""].join(" ").trim() || null,
      "data-label": column.kind === "name" ? null : column.label,
    }, content instanceof Node ? content : isolated(content)));
  }
  return line;
}

// The same choice for narrow screens, where rows are cards without a head.
export function sortSelect(columns, order, sorted) {
  const select = make("select", { change: () => {
    const column = columns.find((one) => one.key === select.value);
    sorted({ key: column.key, down: Boolean(column.down) });
  } });
  for (const column of columns) if (!column.plain) select.append(make("option", { value: column.key, selected: column.key === order.key }, column.label));
  return make("label", { class: "only-phone" }, "Sort by", select);
}
