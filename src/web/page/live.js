// What the server knows, as JSON, and a stream of what changes there. Both know when the page wants its token.

export class NoToken extends Error {}
export class NotThere extends Error {}

export async function ask(path) {
  const answer = await fetch(path, { cache: "no-cache", credentials: "same-origin" });
  if (answer.status === 401 || answer.status === 429) throw new NoToken();
  if (answer.status === 404) throw new NotThere((await answer.json()).error);
  if (!answer.ok) throw new Error("the server answers " + answer.status);
  return answer.json();
}

// "": that was right; else why not.
export async function signIn(token) {
  if (!/^[\x21-\x7e]+$/.test(token)) return "A token has only visible ASCII characters.";
  const answer = await fetch("/api/sign-in", { headers: { Authorization: "Bearer " + token }, credentials: "same-origin" });
  if (answer.ok) return "";
  if (answer.status === 429) return `Too many wrong tokens; try again in ${answer.headers.get("Retry-After")} s.`;
  return "That is not the token.";
}

const badge = () => document.getElementById("live");

function show(state, text) {
  const element = badge();
  if (element.dataset.state === state && element.textContent === text) return;
  element.dataset.state = state;
  element.textContent = text;
}

// Calls `changed({runs, gone, again})` whenever the server tells of changes after `sequence`, until close(). Without a
// stream (there may be only so many) it asks every few seconds instead.
export class Changes {
  constructor(run, sequence, changed) {
    this.query = run ? "&run=" + encodeURIComponent(run) : "";
    this.sequence = sequence;
    this.changed = changed;
    this.closed = false;
    this.open();
  }

  open() {
    this.source = new EventSource(`/api/events?after=${this.sequence}${this.query}`);
    this.source.addEventListener("open", () => show("on", "Live"));
    this.source.addEventListener("runs", (event) => {
      const news = JSON.parse(event.data);
      this.sequence = news.sequence;
      this.changed(news);
    });
    this.source.addEventListener("error", () => {
      if (this.closed) return;
      show("off", "Connecting again …");
      // The browser tries again by itself, unless it was refused.
      if (this.source.readyState !== EventSource.CLOSED) return;
      this.timer = setTimeout(() => {
        this.changed(null);
        this.open();
      }, 4000);
    });
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.source.close();
    show("", "");
  }
}

// Runs `work` now and whenever it is poked, one at a time, and not so often that it takes more than a fifth of the time.
export class Paced {
  constructor(work) {
    this.work = work;
    this.poked = false;
    this.busy = false;
  }

  async poke() {
    this.poked = true;
    if (this.busy || this.closed) return;
    this.busy = true;
    while (this.poked && !this.closed) {
      this.poked = false;
      const begun = performance.now();
      try {
        await this.work();
      } catch (error) {
        if (!this.closed) show("off", "Not reachable: " + error.message);
      }
      await new Promise((done) => setTimeout(done, Math.max(500, 4 * (performance.now() - begun))));
    }
    this.busy = false;
  }

  close() {
    this.closed = true;
  }
}
