// The page of a report: draws the description that is written into it, and switches between light and dark.
"use strict";

(() => {
  const description = JSON.parse(document.getElementById("description").textContent);
  document.title = description.title + " – Muster";
  document.getElementById("title").textContent = description.title;

  const root = document.documentElement;
  const button = document.getElementById("theme");
  const darkNow = () => root.dataset.theme ? root.dataset.theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
  const label = () => { button.textContent = darkNow() ? "Light colours" : "Dark colours"; };
  button.addEventListener("click", () => {
    root.dataset.theme = darkNow() ? "light" : "dark";
    label();
    MusterCharts.restyle();
  });
  label();

  const links = document.getElementById("sections");
  const sections = description.sections.map((section) => [section.id, section.title]).concat([["record", "Record"]]);
  for (const [id, title] of sections) {
    const link = document.createElement("a");
    link.href = "#section-" + id;
    link.textContent = title;
    links.append(link);
  }
  MusterCharts.show(document.getElementById("report"), description);
})();
