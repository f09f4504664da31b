// Which part of the page an address is, the way between them, the colours, and the token.
import { isolated, make } from "./elements.js";
import { NoToken, NotThere, signIn } from "./live.js";
import { showList } from "./list.js";
import { showClient, showClients, showGroup, showRoster, showRun } from "./run.js";
import { showComparison } from "./compare.js";

const main = document.getElementById("main");
let open = null; // what is shown now
let turn = 0;
let place = ""; // whose address that is, without what follows the #

function viewOf(address) {
  const parts = address.pathname.split("/").slice(1).map(decodeURIComponent);
  if (parts.length === 1 && parts[0] === "") return () => showList(main);
  if (parts.length === 1 && parts[0] === "compare") {
    const runs = (address.search.match(/[?&]runs=([^&]*)/) || ["", ""])[1].split("/").map(decodeURIComponent).filter(Boolean);
    if (runs.length) return () => showComparison(main, runs);
  }
  if (parts[0] === "run" && parts[1]) {
    const [, run, what, which] = parts;
    if (parts.length === 2) return () => showRun(main, run);
    if (parts.length === 3 && what === "clients") return () => showClients(main, run);
    if (parts.length === 3 && what === "roster") return () => showRoster(main, run);
    if (parts.length === 4 && /^\d{1,10}$/.test(which) && what === "client") return () => showClient(main, run, which);
    if (parts.length === 4 && /^\d{1,10}$/.test(which) && what === "group") return () => showGroup(main, run, which);
  }
  return null;
}

function showTrail(trail) {
  const nav = document.getElementById("trail");
  const all = trail.length ? [{ text: "Runs", href: "/" }, ...trail] : [];
  nav.replaceChildren(...all.map((one, i) => one.href
    ? make("a", { href: one.href }, isolated(one.text))
    : make("span", { "aria-current": i + 1 === all.length ? "page" : null }, isolated(one.text))));
}

function showMessage(title, text) {
  main.replaceChildren(make("div", { class: "headline" }, make("h1", { tabindex: "-1" }, title)), make("p", {}, isolated(text)), make("p", {}, make("a", { href: "/" }, "All runs")));
  return { title, trail: [{ text: title }], close: () => {} };
}

function showSignIn() {
  const field = make("input", { type: "password", id: "token", autocomplete: "off", required: true });
  const told = make("p", { role: "alert" });
  const form = make("form", {}, make("label", { for: "token" }, "Token", field), make("button", { type: "submit", class: "button" }, "Look"), told);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    told.textContent = await signIn(field.value.trim());
    if (!told.textContent) show();
  });
  main.replaceChildren(make("section", { class: "sign-in" }, make("h1", { tabindex: "-1" }, "This page wants its token"),
    make("p", { class: "caption" }, "It is in the file that the page was started with (--token-file), or in MUSTER_UI_TOKEN there."), form));
  return { title: "Token", trail: [], close: () => {} };
}

async function show(moved) {
  const mine = ++turn;
  place = location.pathname + location.search;
  if (open) open.close();
  open = null;
  let shown;
  try {
    const view = viewOf(location);
    shown = view ? await view() : showMessage("There is nothing here", location.pathname);
  } catch (error) {
    if (error instanceof NoToken) shown = showSignIn();
    else if (error instanceof NotThere || error instanceof URIError) shown = showMessage("That is not here", error.message);
    else shown = showMessage("That did not work", error.message);
  }
  if (mine !== turn) return shown.close(); // the reader has gone on meanwhile
  open = shown;
  document.title = shown.title + " – Muster";
  showTrail(shown.trail);
  if (!moved) return;
  window.scrollTo(0, 0);
  const heading = main.querySelector("h1");
  if (heading) heading.focus({ preventScroll: true });
}

// Links within the page do not load it again.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!link || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  if (link.origin !== location.origin || link.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  history.pushState(null, "", link.href);
  show(true);
});
window.addEventListener("popstate", () => location.pathname + location.search === place || show(true));
window.addEventListener("hashchange", () => location.hash.startsWith("#token=") && begin());
window.addEventListener("pagehide", () => open && open.close());
window.addEventListener("pageshow", (event) => event.persisted && show());

const theme = document.getElementById("theme");
function applyTheme(value) {
  if (value) document.documentElement.dataset.theme = value;
  else delete document.documentElement.dataset.theme;
  MusterCharts.restyle();
}
theme.value = localStorage.getItem("theme") || "";
applyTheme(theme.value);
theme.addEventListener("change", () => {
  localStorage.setItem("theme", theme.value);
  applyTheme(theme.value);
});

// A token may come once, in the address, behind the #, which browsers keep to themselves.
async function begin() {
  const given = location.hash.match(/^#token=(.+)$/);
  if (given) {
    history.replaceState(null, "", location.pathname + location.search);
    await signIn(decodeURIComponent(given[1]));
  }
  await show();
}
begin();
