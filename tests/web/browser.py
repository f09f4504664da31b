"""A browser for tests: headless Chromium through chromedriver, spoken to in WebDriver's HTTP and JSON.

Everything is on loopback and bounded in time. Whoever needs a browser where none can be had ends with status 77, which
ctest shows as skipped. One session serves all of a test: Chromium takes seconds to start.

    with Browser(shots=pathlib.Path("build/shots")) as browser:
        browser.open("file:///.../report.html")
        browser.wait("document.querySelector('canvas')")
        browser.shot("report")
        assert browser.complaints() == [] and browser.requests(other_than="file://") == []
"""

import base64
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

SKIPPED = 77
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of an element's reference, by the standard
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "Space": " ", "Shift": "\ue008", "End": "\ue010",
        "Home": "\ue011", "Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015"}


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIPPED)


class BrowserError(Exception):
    pass


class Browser:
    """`shots`: folder for screenshots. `deadline_s`: a call that takes longer fails."""

    def __init__(self, shots, deadline_s=20):
        driver = shutil.which("chromedriver")
        chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if not driver or not chromium:
            skip("needs a browser and its driver: apt-get install --no-install-recommends chromium chromium-driver")
        self.shots = pathlib.Path(shots)
        self.shots.mkdir(parents=True, exist_ok=True)
        self.deadline_s = deadline_s
        self.profile = tempfile.mkdtemp(prefix="muster-browser-")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.log = open(os.path.join(self.profile, "driver.log"), "wb")
        # A group of its own, so that nothing of it is left behind.
        self.process = subprocess.Popen([driver, f"--port={port}"], stdout=self.log, stderr=self.log,
                                        start_new_session=True)
        self.base = f"http://127.0.0.1:{port}"
        self.session = None
        try:
            self._start(chromium)
        except BaseException:
            self.close()
            raise

    def _start(self, chromium):
        until = time.monotonic() + self.deadline_s
        while True:
            try:
                if self._call("GET", "/status")["ready"]:
                    break
            except (OSError, BrowserError):
                pass
            if self.process.poll() is not None or time.monotonic() > until:
                skip("chromedriver does not start: " + self._log_tail())
            time.sleep(0.05)
        arguments = ["--headless=new", "--disable-gpu", "--no-first-run", "--disable-extensions", "--mute-audio",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync",
                     "--disable-dev-shm-usage", "--force-device-scale-factor=1", "--hide-scrollbars",
                     "--lang=en-GB", "--window-size=1280,900", f"--user-data-dir={self.profile}/profile"]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")  # Chromium's own does not work as root
        wanted = {"browserName": "chrome", "goog:chromeOptions": {"binary": chromium, "args": arguments},
                  "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
                  "timeouts": {"script": 1000 * self.deadline_s, "pageLoad": 1000 * self.deadline_s}}
        try:
            answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}}, seconds=60)
        except BrowserError as error:
            skip(f"Chromium does not start here: {error}")
        self.session = answer["sessionId"]

    def _log_tail(self):
        with open(self.log.name, "rb") as log:
            return log.read()[-300:].decode(errors="replace").strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.session:
            try:
                self._call("DELETE", f"/session/{self.session}", seconds=5)
            except (OSError, BrowserError):
                pass
            self.session = None
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def _call(self, method, path, body=None, seconds=None):
        data = None if body is None and method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.base + path, data=data, method=method,
                                         headers={"Content-Type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # never through a proxy
        try:
            with opener.open(request, timeout=seconds or self.deadline_s) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            raise BrowserError(json.load(error)["value"]["message"].splitlines()[0]) from None

    def _do(self, method, path, body=None):
        return self._call(method, f"/session/{self.session}{path}", body)

    # Pages.

    def open(self, address):
        self._do("POST", "/url", {"url": address})

    def address(self):
        return self._do("GET", "/url")

    def back(self):
        self._do("POST", "/back")

    def run(self, script, *arguments):
        """What the script returns; in it, arguments[0] is the first of `arguments`."""
        return self._do("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def value(self, expression):
        return self.run(f"return {expression}")

    def wait(self, expression, seconds=10):
        """Until the expression is true, or fails with what the page shows."""
        until = time.monotonic() + seconds
        while True:
            try:
                found = self.value(expression)
            except BrowserError as error:  # of an element that is not there yet
                if "javascript error" not in str(error):
                    raise
                found = None
            if found:
                return found
            if time.monotonic() > until:
                shown = self.value("document.body ? document.body.innerText.slice(0, 600) : ''")
                raise AssertionError(f"not within {seconds} s: {expression}\nthe page shows: {shown}")
            time.sleep(0.03)

    # Elements, by CSS selectors.

    def _find(self, selector):
        return self._do("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        for attempt in range(5):
            try:
                return self._do("POST", f"/element/{self._find(selector)}/click")
            except BrowserError as error:  # it was drawn anew between the two calls
                if "stale element" not in str(error) or attempt == 4:
                    raise

    def fill(self, selector, text):
        element = self._find(selector)
        self._do("POST", f"/element/{element}/clear")
        self._do("POST", f"/element/{element}/value", {"text": text})

    def text(self, selector):
        return self.run("const e = document.querySelector(arguments[0]); return e ? e.textContent : null", selector)

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def press(self, *names):
        """Keys by name, or a text: one after the other, into whatever has the focus. "Shift+Tab" holds one."""
        actions = []
        for name in names:
            *held, last = name.split("+") if len(name) > 1 and "+" in name else [name]
            codes = [KEYS[key] for key in held]
            letters = [KEYS[last]] if last in KEYS else list(last)
            actions += [{"type": "keyDown", "value": code} for code in codes]
            for letter in letters:
                actions += [{"type": "keyDown", "value": letter}, {"type": "keyUp", "value": letter}]
            actions += [{"type": "keyUp", "value": code} for code in codes]
        self._do("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    # How it looks.

    def cdp(self, command, **parameters):
        return self._do("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def resize(self, width, height, phone=False):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def prefer(self, scheme):
        """What the system asks for: "dark" or "light"."""
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme},
                                                         {"name": "prefers-reduced-motion", "value": "reduce"}])

    def shot(self, name, whole=False):
        """A PNG of what is seen, or of the whole page; returns its path."""
        metrics = self.cdp("Page.getLayoutMetrics")["cssContentSize"] if whole else None
        extra = {"captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": metrics["width"],
                 "height": min(metrics["height"], 12000), "scale": 1}} if whole else {}
        data = self.cdp("Page.captureScreenshot", format="png", **extra)["data"]
        path = self.shots / f"{name}.png"
        path.write_bytes(base64.b64decode(data))
        return path

    # What went on.

    def complaints(self):
        """What was written to the console since the last call: errors and warnings, among them refusals of a policy."""
        return [entry["message"] for entry in self._do("POST", "/se/log", {"type": "browser"})
                if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self, other_than):
        """Addresses that were asked for since the last call, but those that begin with `other_than` or hold their data."""
        found = []
        for entry in self._do("POST", "/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] != "Network.requestWillBeSent":
                continue
            address = message["params"]["request"]["url"]
            if not address.startswith((other_than, "data:", "blob:", "chrome:", "about:")):
                found.append(address)
        return found


def contrast_faults(browser, least=4.5):
    """Texts of the page whose colour is too near to what is behind them, as 'TEXT: RATIO' (WCAG 2)."""
    return browser.run("""
      const parse = c => { const m = c.match(/[\\d.]+/g); return m ? m.map(Number) : [0, 0, 0, 0]; };
      const channel = v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
      const luminance = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
      const over = (top, below) => { const a = top.length > 3 ? top[3] : 1;
        return [0, 1, 2].map(i => top[i] * a + below[i] * (1 - a)); };
      const behind = e => { const layers = [];
        for (; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
        return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]); };
      const faults = new Set();
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const text = walker.currentNode.data.trim(), e = walker.currentNode.parentElement;
        if (!text || !e || e.closest('script, style, noscript, [disabled]')) continue;
        const box = e.getBoundingClientRect(), style = getComputedStyle(e);
        if (box.width < 2 || box.height < 2 || style.visibility === 'hidden' || style.opacity === '0') continue;
        const back = behind(e), fore = over(parse(style.color), back);
        const [a, b] = [luminance(fore), luminance(back)].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        if (ratio < arguments[0] - 0.005) faults.add(text.slice(0, 40) + ': ' + ratio.toFixed(2));
      }
      return [...faults].slice(0, 20);""", least)


def unlabelled(browser):
    """Controls without a name that can be read out, and pictures and charts without one."""
    return browser.run("""
      const named = e => e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.title ||
        (e.labels && e.labels.length > 0) || e.textContent.trim() || e.hasAttribute('alt');
      return [...document.querySelectorAll('button, a[href], input, select, textarea, canvas, img, svg[role]')]
        .filter(e => !named(e)).map(e => e.outerHTML.slice(0, 120));""")


def wider_than_the_screen(browser):
    """By how many pixels the page must be moved sideways to be read."""
    return browser.value("Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)")
