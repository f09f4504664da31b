// Charts of a run or a comparison: the description that docs/report.md lists -> elements of a page, each chart with its
// data as a table. Needs Chart.js and charts.css. Whatever a description holds reaches the page as text, never as markup.
"use strict";

const MusterCharts = (() => {
  const MOST_TABLE_ROWS = 500;
  const MOST_LEGEND = 24;
  const shown = new Set(); // of drawn figures, to be drawn anew when the theme changes

  // ---- Elements and numbers

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
    for (const child of children) {
      element.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
    return element;
  }

  function known(value) {
    return typeof value === "number" && Number.isFinite(value);
  }

  function short(value) {
    if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en-GB");
    return String(Number(value.toPrecision(4)));
  }

  function numberText(value, unit) {
    if (!known(value)) return "–";
    if (unit === "share") return (100 * value).toFixed(2) + " %";
    if (unit === "seconds") return short(value) + " s";
    if (unit === "bytes") {
      const names = ["B", "kB", "MB", "GB", "TB"];
      let power = 0;
      while (Math.abs(value) >= 1000 && power + 1 < names.length) {
        value /= 1000;
        ++power;
      }
      return String(Number(value.toPrecision(4))) + " " + names[power];
    }
    return short(value);
  }

  // The same along an axis, where room is scarce.
  function tickText(value, unit) {
    return unit === "share" ? String(Number((100 * value).toPrecision(4))) + " %" : numberText(value, unit);
  }

  function axisText(axis) {
    return axis.unit === "seconds" ? axis.label + " (s)" : axis.label;
  }

  function cut(text, most) {
    const letters = Array.from(String(text));
    return letters.length <= most ? String(text) : letters.slice(0, most - 1).join("") + "…";
  }

  // ---- Colours, of the style sheet

  function style(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function seriesColour(index) {
    return style("--series-" + (index % 8 + 1));
  }

  function rgb(text) {
    const hex = text.replace("#", "");
    return [0, 2, 4].map((at) => parseInt(hex.substr(at, 2), 16));
  }

  function faint(colour, share) {
    return "rgba(" + rgb(colour).join(", ") + ", " + share + ")";
  }

  function heatColour(share) {
    const scale = ["--heat-0", "--heat-1", "--heat-2", "--heat-3"].map((name) => rgb(style(name)));
    const place = Math.min(Math.max(share, 0), 1) * (scale.length - 1);
    const low = Math.min(Math.floor(place), scale.length - 2);
    return scale[low].map((from, i) => Math.round(from + (scale[low + 1][i] - from) * (place - low)));
  }

  function dark(colour) {
    return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2] < 140;
  }

  // ---- Chart.js: curves and bars

  function axisOptions(axis, more) {
    const text = style("--text");
    const ticks = { color: text, maxRotation: 60, callback: (value) => tickText(value, axis.unit) };
    if (axis.unit === "count") ticks.precision = 0;
    return Object.assign({
      title: { display: true, text: axisText(axis), color: text },
      ticks: ticks,
      grid: { color: style("--grid"), borderColor: style("--muted") },
    }, more);
  }

  function commonOptions(legend) {
    return {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      interaction: { mode: "nearest", axis: "x", intersect: false },
      plugins: {
        legend: {
          display: legend,
          position: "bottom",
          labels: { color: style("--text"), boxWidth: 24, filter: (item) => item.text !== "" },
        },
        tooltip: { filter: (item) => item.dataset.label !== "" },
      },
    };
  }

  function points(series, xAxis, values) {
    const found = [];
    for (let i = 0; i < series.y.length; ++i) {
      const x = series.x[xAxis] && series.x[xAxis][i];
      if (known(x)) found.push({ x: x, y: known(values[i]) ? values[i] : null });
    }
    return found;
  }

  function lineConfig(figure, choice) {
    const datasets = [];
    figure.series.forEach((series, index) => {
      const colour = seriesColour(index);
      const many = series.y.length > 60;
      const line = {
        label: cut(series.name, 60),
        data: points(series, choice.x, series.y),
        borderColor: colour,
        backgroundColor: colour,
        borderWidth: 2,
        borderDash: series.dashed ? [6, 4] : index >= 8 ? [2, 3] : [],
        pointRadius: many ? 0 : 2,
        pointHitRadius: 6,
        tension: 0,
        spanGaps: true,
      };
      datasets.push(line);
      if (!series.low || !series.high) return;
      const edge = { label: "", borderWidth: 0, pointRadius: 0, pointHitRadius: 0, backgroundColor: faint(colour, 0.18), tension: 0 };
      datasets.push(Object.assign({}, edge, { data: points(series, choice.x, series.low), fill: false }));
      datasets.push(Object.assign({}, edge, { data: points(series, choice.x, series.high), fill: "-1" }));
    });
    const options = commonOptions(figure.series.length > 1);
    Object.assign(options.plugins.legend.labels, { usePointStyle: true, pointStyle: "line" }); // dashes show
    const x = figure.x[choice.x];
    options.parsing = false;
    options.scales = {
      x: axisOptions(x, { type: "linear" }),
      y: axisOptions(figure.y, choice.log ? { type: "logarithmic" } : {}),
    };
    if (figure.y.unit === "share" && !choice.log) {
      options.scales.y.afterDataLimits = (scale) => {
        scale.min = Math.max(scale.min, 0);
        scale.max = Math.min(scale.max, 1);
      };
    }
    options.plugins.tooltip.callbacks = {
      title: (items) => items.length ? x.label + ": " + numberText(items[0].parsed.x, x.unit) : "",
      label: (item) => item.dataset.label + ": " + numberText(item.parsed.y, figure.y.unit),
    };
    return { type: "line", data: { datasets: datasets }, options: options };
  }

  function barConfig(figure) {
    const several = figure.parts.length > 1;
    const datasets = figure.parts.map((part, index) => ({
      label: cut(part.name, 40),
      data: part.values.map((value) => known(value) ? value : null),
      backgroundColor: part.colour || seriesColour(index),
      borderColor: style("--surface"),
      borderWidth: several && figure.categories.length <= 60 ? 1 : 0,
      categoryPercentage: figure.categories.length > 60 ? 1 : 0.86,
      barPercentage: figure.categories.length > 60 ? 1 : 0.95,
    }));
    const options = commonOptions(several && figure.parts.length <= MOST_LEGEND);
    options.scales = {
      x: axisOptions(figure.x, { stacked: true }),
      y: axisOptions(figure.y, { stacked: true, beginAtZero: true }),
    };
    options.scales.x.ticks.callback = function (value) {
      return cut(this.getLabelForValue(value), 24);
    };
    options.scales.x.grid.display = false;
    options.plugins.tooltip.callbacks = {
      title: (items) => items.length ? cut(items[0].label, 80) : "",
      label: (item) => item.dataset.label + ": " + numberText(item.parsed.y, figure.y.unit),
    };
    return { type: "bar", data: { labels: figure.categories, datasets: datasets }, options: options };
  }

  // ---- Matrices, drawn here

  function heatRange(figure) {
    let low = Infinity;
    let high = -Infinity;
    for (const row of figure.values) {
      for (const value of row) {
        if (!known(value)) continue;
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
    }
    if (figure.z.unit === "share") return [0, 1];
    return low > high ? [0, 1] : [Math.min(low, 0), high === low ? low + 1 : high];
  }

  function heatShare(figure, range, value) {
    const share = (value - range[0]) / (range[1] - range[0]);
    // Small shares still show.
    return figure.strong_low ? 1 - share : figure.z.unit === "share" ? Math.sqrt(Math.max(0, share)) : share;
  }

  class Heat {
    constructor(canvas, readout) {
      this.canvas = canvas;
      this.readout = readout;
      this.observer = new ResizeObserver(() => this.draw());
      this.observer.observe(canvas.parentNode);
      canvas.addEventListener("mousemove", (event) => this.tell(event));
      canvas.addEventListener("mouseleave", () => this.readout.replaceChildren());
    }

    set(figure) {
      this.figure = figure;
      this.range = heatRange(figure);
      this.draw();
    }

    destroy() {
      this.observer.disconnect();
    }

    layout(context, width) {
      const figure = this.figure;
      const most = (names) => Math.max(0, ...names.slice(0, 60).map((name) => context.measureText(cut(name, 16)).width));
      const named = Math.max(figure.rows.length, figure.columns.length) <= 40;
      const left = 24 + (named ? most(figure.rows) + 8 : 30);
      const below = 24 + (named ? Math.min(most(figure.columns), 110) + 8 : 20);
      const right = 78;
      const cell = Math.max(1, Math.min((width - left - right) / figure.columns.length, 44, 520 / figure.rows.length));
      return { left, top: 8, below, cell, named, columns: figure.columns.length * cell, rows: figure.rows.length * cell };
    }

    draw() {
      if (!this.figure) return;
      const width = this.canvas.parentNode.clientWidth;
      if (width === 0) return;
      const context = this.canvas.getContext("2d");
      context.font = "12px " + (style("--font") || "sans-serif");
      const at = this.layout(context, width);
      this.at = at;
      const height = at.top + Math.max(at.rows, 120) + at.below;
      const ratio = window.devicePixelRatio || 1;
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = width + "px";
      this.canvas.style.height = height + "px";
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.font = "12px " + (style("--font") || "sans-serif");
      this.drawCells(context, at);
      this.drawNames(context, at);
      this.drawScale(context, at);
    }

    drawCells(context, at) {
      const figure = this.figure;
      const written = at.cell >= 30 && figure.columns.length <= 16;
      const gap = at.cell >= 8 ? 1 : 0;
      context.textAlign = "center";
      context.textBaseline = "middle";
      figure.values.forEach((row, i) => row.forEach((value, j) => {
        if (!known(value)) return;
        const colour = heatColour(heatShare(figure, this.range, value));
        const x = at.left + j * at.cell;
        const y = at.top + i * at.cell;
        context.fillStyle = "rgb(" + colour.join(",") + ")";
        context.fillRect(x, y, at.cell - gap + (gap ? 0 : 0.5), at.cell - gap + (gap ? 0 : 0.5));
        if (!written) return;
        context.fillStyle = dark(colour) ? "#ffffff" : "#111111";
        const text = figure.z.unit === "share" ? String(Math.round(100 * value)) : String(Number(value.toPrecision(3)));
        context.fillText(text, x + at.cell / 2, y + at.cell / 2);
      }));
      context.strokeStyle = style("--muted");
      context.strokeRect(at.left - 0.5, at.top - 0.5, at.columns + 1, at.rows + 1);
    }

    drawNames(context, at) {
      const figure = this.figure;
      context.fillStyle = style("--text");
      const step = (count) => at.named ? (at.cell >= 12 ? 1 : Math.ceil(12 / at.cell)) : Math.max(1, Math.ceil(count / 10));
      context.textAlign = "right";
      context.textBaseline = "middle";
      for (let i = 0; i < figure.rows.length; i += step(figure.rows.length)) {
        const name = at.named ? cut(figure.rows[i], 16) : String(i);
        context.fillText(name, at.left - 6, at.top + (i + 0.5) * at.cell);
      }
      for (let j = 0; j < figure.columns.length; j += step(figure.columns.length)) {
        const name = at.named ? cut(figure.columns[j], 16) : String(j);
        const x = at.left + (j + 0.5) * at.cell;
        const y = at.top + at.rows + 8;
        if (context.measureText(name).width <= at.cell * step(figure.columns.length) - 4) {
          context.textAlign = "center";
          context.fillText(name, x, y + 4);
        } else {
          context.save();
          context.translate(x, y);
          context.rotate(-Math.PI / 3);
          context.textAlign = "right";
          context.fillText(name, 0, 0);
          context.restore();
        }
      }
      context.textAlign = "center";
      context.fillText(axisText(figure.x), at.left + at.columns / 2, at.top + at.rows + at.below - 10);
      context.save();
      context.translate(10, at.top + at.rows / 2);
      context.rotate(-Math.PI / 2);
      context.fillText(axisText(figure.y), 0, 0);
      context.restore();
    }

    drawScale(context, at) {
      const figure = this.figure;
      const x = at.left + at.columns + 14;
      const height = Math.min(Math.max(at.rows, 60), 160);
      const steps = 32;
      for (let i = 0; i < steps; ++i) {
        const value = this.range[0] + (this.range[1] - this.range[0]) * (i + 0.5) / steps;
        context.fillStyle = "rgb(" + heatColour(heatShare(figure, this.range, value)).join(",") + ")";
        context.fillRect(x, at.top + height * (1 - (i + 1) / steps), 12, height / steps + 0.5);
      }
      context.strokeStyle = style("--muted");
      context.strokeRect(x - 0.5, at.top - 0.5, 13, height + 1);
      context.fillStyle = style("--text");
      context.textAlign = "left";
      for (const share of [0, 0.5, 1]) {
        const value = this.range[0] + (this.range[1] - this.range[0]) * share;
        context.fillText(tickText(value, figure.z.unit), x + 16, at.top + 6 + (height - 12) * (1 - share));
      }
    }

    tell(event) {
      if (!this.at) return;
      const box = this.canvas.getBoundingClientRect();
      const j = Math.floor((event.clientX - box.left - this.at.left) / this.at.cell);
      const i = Math.floor((event.clientY - box.top - this.at.top) / this.at.cell);
      const row = this.figure.values[i];
      if (!row || j < 0 || j >= row.length) return this.readout.replaceChildren();
      this.readout.textContent = cut(this.figure.rows[i], 60) + " → " + cut(this.figure.columns[j], 60) + ": " + numberText(row[j], this.figure.z.unit);
    }
  }

  // ---- Tables

  // Columns of words are set as text, others as numbers.
  function tableOf(columns, rows, total) {
    const words = columns.map((_, i) => rows.some((row) => /^["{[A-Za-z]/.test(row[i]) && row[i] !== "n/a"));
    const kind = (i) => words[i] ? { class: "words" } : {};
    const head = make("tr");
    columns.forEach((text, i) => head.append(make("th", Object.assign({ scope: "col" }, kind(i)), text)));
    const body = make("tbody");
    for (const row of rows) {
      const line = make("tr");
      row.forEach((cell, i) => line.append(make(i === 0 ? "th" : "td", i === 0 ? { scope: "row" } : kind(i), make("bdi", {}, cell))));
      body.append(line);
    }
    const table = make("div", { class: "table", tabindex: "0" }, make("table", {}, make("thead", {}, head), body));
    if (rows.length < total) table.append(make("p", { class: "caption" }, "The first " + rows.length + " of " + total + " rows."));
    return table;
  }

  function lineTable(figure, choice) {
    const x = figure.x[choice.x];
    const columns = [axisText(x)];
    const rows = new Map(); // by x
    figure.series.forEach((series) => {
      const first = columns.length;
      columns.push(series.name);
      if (series.low) columns.push(series.name + ", low", series.name + ", high");
      series.y.forEach((y, i) => {
        const place = series.x[choice.x][i];
        if (!rows.has(place)) rows.set(place, []);
        const row = rows.get(place);
        row[first] = y;
        if (series.low) [row[first + 1], row[first + 2]] = [series.low[i], series.high[i]];
      });
    });
    const sorted = Array.from(rows.entries()).sort((a, b) => a[0] - b[0]);
    const text = sorted.slice(0, MOST_TABLE_ROWS).map(([place, row]) =>
      columns.map((_, i) => i === 0 ? numberText(place, x.unit) : numberText(row[i], figure.y.unit)));
    return tableOf(columns, text, sorted.length);
  }

  function barTable(figure) {
    const columns = [axisText(figure.x)].concat(figure.parts.map((part) => part.name));
    const rows = figure.categories.map((name, i) => [name].concat(figure.parts.map((part) => numberText(part.values[i], figure.y.unit))));
    return tableOf(columns, rows.slice(0, MOST_TABLE_ROWS), rows.length);
  }

  function heatTable(figure) {
    const columns = [figure.y.label + " / " + figure.x.label].concat(figure.columns);
    const rows = figure.values.map((row, i) => [figure.rows[i]].concat(row.map((value) => numberText(value, figure.z.unit))));
    return tableOf(columns, rows, rows.length);
  }

  function plainTable(figure) {
    const rows = figure.rows.map((row) => row.map((cell, i) =>
      typeof cell === "number" ? numberText(cell, figure.columns[i].unit) : cell === null ? "–" : cell));
    return tableOf(figure.columns.map((column) => column.label), rows, rows.length);
  }

  // ---- A figure with its controls

  class Shown {
    constructor(figure) {
      this.choice = { x: 0, log: false };
      this.kind = figure.kind;
      this.title = make("h3");
      this.caption = make("p", { class: "caption" });
      this.controls = make("div", { class: "controls" });
      this.body = make("div", { class: "chart chart-" + figure.kind });
      this.readout = make("output", { class: "readout" });
      this.details = make("details", {}, make("summary", {}, "Data table"));
      this.element = make("figure", { id: "figure-" + figure.id }, make("figcaption", {}, this.title, this.caption), this.controls, this.body);
      this.details.addEventListener("toggle", () => this.fillTable());
      if (figure.kind !== "table") {
        this.canvas = make("canvas", { role: "img" });
        this.body.append(this.canvas);
        if (figure.kind === "heat") this.element.append(this.readout);
        this.element.append(this.details);
      }
      if (figure.kind === "lines") this.addControls(figure);
      const long = (row) => row.reduce((sum, cell) => sum + 3 + Math.min(40, String(cell).length), 0) > 80;
      if (figure.kind === "table" && figure.rows.some(long)) this.element.className = "wide";
    }

    addControls(figure) {
      if (figure.x.length > 1) {
        const select = make("select");
        figure.x.forEach((axis, i) => select.append(make("option", { value: i }, axis.label)));
        select.addEventListener("change", () => {
          this.choice.x = Number(select.value);
          this.draw();
        });
        this.controls.append(make("label", {}, "over ", select));
      }
      if (figure.y.unit === "count") return; // small numbers, often 0
      const log = make("input", { type: "checkbox" });
      log.addEventListener("change", () => {
        this.choice.log = log.checked;
        this.draw();
      });
      this.controls.append(make("label", {}, log, " logarithmic"));
    }

    set(figure) {
      const same = this.text === JSON.stringify(figure);
      if (same) return;
      this.text = JSON.stringify(figure);
      this.figure = figure;
      this.title.textContent = figure.title;
      this.caption.textContent = figure.caption || "";
      if (this.canvas) this.canvas.setAttribute("aria-label", "Chart: " + figure.title + ". Its data are in the table below it.");
      if (this.element.isConnected) this.draw();
    }

    draw() {
      const figure = this.figure;
      if (figure.kind === "table") {
        this.body.replaceChildren(plainTable(figure));
      } else if (figure.kind === "heat") {
        if (!this.heat) this.heat = new Heat(this.canvas, this.readout);
        this.heat.set(figure);
      } else {
        const config = figure.kind === "lines" ? lineConfig(figure, this.choice) : barConfig(figure);
        if (this.chart) {
          this.chart.data = config.data;
          this.chart.options = config.options;
          this.chart.update("none");
        } else {
          this.chart = new Chart(this.canvas, config);
        }
      }
      this.fillTable();
    }

    fillTable() {
      if (!this.details.open || !this.figure) {
        if (this.details.children.length > 1) this.details.lastChild.remove();
        return;
      }
      const figure = this.figure;
      const table = figure.kind === "lines" ? lineTable(figure, this.choice) : figure.kind === "bars" ? barTable(figure) : heatTable(figure);
      if (this.details.children.length > 1) this.details.lastChild.remove();
      this.details.append(table);
    }

    destroy() {
      if (this.chart) this.chart.destroy();
      if (this.heat) this.heat.destroy();
      shown.delete(this);
    }
  }

  // ---- The whole description

  const states = new WeakMap(); // of a root: the figures by their ids

  // Puts `child` at place `index`, without touching it if it is there already: what has the focus keeps it.
  function place(parent, child, index) {
    if (parent.children[index] !== child) parent.insertBefore(child, parent.children[index] || null);
  }

  function factsOf(description) {
    const list = make("dl", { class: "facts" });
    for (const fact of description.facts) list.append(make("div", {}, make("dt", {}, fact.name), make("dd", {}, make("bdi", {}, fact.value))));
    return list;
  }

  function runsOf(description) {
    const section = make("section", { id: "section-record" }, make("h2", {}, "Record"));
    for (const run of description.runs) {
      const list = make("dl", { class: "facts" });
      const facts = [["run", run.run], ["method", run.method], ["seed", run.seed], ["state", run.state], ["signature", run.signature || "not yet"]];
      for (const [name, value] of facts) list.append(make("div", {}, make("dt", {}, name), make("dd", {}, make("bdi", {}, value))));
      list.append(make("div", { class: "wide" }, make("dt", {}, "repeat it"), make("dd", {}, make("code", {}, run.command))));
      section.append(list, make("details", {}, make("summary", {}, "Recipe of " + run.run), make("pre", { tabindex: "0" }, run.recipe)));
    }
    return section;
  }

  // Draws the description into `root`, or draws it anew there: what the reader chose and opened stays.
  function show(root, description) {
    let state = states.get(root);
    if (!state) {
      state = { figures: new Map(), sections: new Map(), head: make("div"), tail: make("div") };
      states.set(root, state);
      root.replaceChildren(state.head, state.tail);
    }
    const notes = make("ul", { class: "notes" });
    for (const note of description.notes) notes.append(make("li", {}, make("bdi", {}, note)));
    state.head.replaceChildren(factsOf(description));
    if (description.notes.length) state.head.append(notes);

    const seen = new Set();
    let index = 1;
    for (const section of description.sections) {
      let element = state.sections.get(section.id);
      if (!element) {
        element = make("section", { id: "section-" + section.id }, make("h2", {}, section.title), make("div", { class: "figures" }));
        state.sections.set(section.id, element);
      }
      place(root, element, index++);
      let at = 0;
      for (const figure of section.figures) {
        let one = state.figures.get(figure.id);
        if (one && one.kind !== figure.kind) {
          one.destroy();
          one.element.remove();
          one = null;
        }
        const fresh = !one;
        if (fresh) {
          one = new Shown(figure);
          state.figures.set(figure.id, one);
          shown.add(one);
        }
        seen.add(figure.id);
        place(element.lastChild, one.element, at++);
        one.set(figure);
        if (fresh && !one.chart) one.draw();
      }
    }
    for (const [id, one] of state.figures) {
      if (seen.has(id)) continue;
      one.destroy();
      one.element.remove();
      state.figures.delete(id);
    }
    const titles = new Set(description.sections.map((section) => section.id));
    for (const [id, element] of state.sections) {
      if (titles.has(id)) continue;
      element.remove();
      state.sections.delete(id);
    }
    const open = Array.from(state.tail.querySelectorAll("details"), (details) => details.open);
    state.tail.replaceChildren(runsOf(description));
    state.tail.querySelectorAll("details").forEach((details, i) => { details.open = Boolean(open[i]); });
  }

  // Takes everything away again.
  function clear(root) {
    const state = states.get(root);
    if (!state) return;
    for (const one of state.figures.values()) one.destroy();
    states.delete(root);
    root.replaceChildren();
  }

  // Draws all charts anew, in the colours that hold now.
  function restyle() {
    for (const one of shown) if (one.figure) one.draw();
  }

  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restyle);
  window.addEventListener("beforeprint", restyle);

  return { show, clear, restyle, numberText };
})();
