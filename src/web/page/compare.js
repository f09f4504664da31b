// Several runs side by side.
import { isolated, make } from "./elements.js";
import { ask, Changes, Paced } from "./live.js";

export async function showComparison(main, runs) {
  const path = "/api/compare?runs=" + runs.map(encodeURIComponent).join("/");
  const notes = make("div");
  const body = make("div");
  function draw(found) {
    notes.replaceChildren(...found.missing.map((run) => make("p", { class: "note" }, "There is no run ", isolated(run), ".")));
    MusterCharts.show(body, found.description);
  }
  const first = await ask(path);
  const links = make("ul", { class: "links", "aria-label": "The runs" });
  for (const run of runs) links.append(make("li", {}, make("a", { class: "button quiet", href: "/run/" + encodeURIComponent(run) }, isolated(run))));
  main.replaceChildren(make("div", { class: "headline" }, make("h1", { tabindex: "-1" }, `Comparison of ${runs.length} runs`)), links, notes, body);
  draw(first);
  const wanted = new Set(runs);
  const again = new Paced(async () => draw(await ask(path)));
  const changes = new Changes("", 0, (news) => {
    if (!news || news.runs.some((row) => wanted.has(row.run) && row.condition === "running") || news.again) again.poke();
  });
  return { title: "Comparison", trail: [{ text: "Comparison" }], close: () => {
    changes.close();
    again.close();
    MusterCharts.clear(body);
  } };
}
