"""The live page as a user meets it, in a real browser: list, run, client, group, comparison, live updates, phone,
keyboard, token, and names that try to be more than text.

    page_test.py MUSTER SHOTS [MUSTER_NET]
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

from browser import Browser, contrast_faults, unlabelled, wider_than_the_screen

MUSTER = sys.argv[1]
SHOTS = pathlib.Path(sys.argv[2])
MUSTER_NET = sys.argv[3] if len(sys.argv) > 3 else None  # a program that can deploy
TOKEN = "a-token-of-good-length"
LONG = "x" * 10_000
EVIL_RUN = "\"><img src=x onerror=document.title='pwned'>\u202e"  # a folder's name
EVIL = ["<img src=x onerror=document.title='pwned'>", "\"><script>document.title='pwned'</script>",
        "\u202etfel ot thgir\u202c", LONG]


def write_run(out, run, method="fedavg", seed=1, rounds=20, wanted=None, clients=10, names=None, classes=None, lift=0.0):
    """A run's folder as `muster run` leaves it, with these figures."""
    folder = out / run
    folder.mkdir(parents=True)
    wanted = wanted or rounds
    quote = json.dumps  # a JSON string is a TOML string, too
    (folder / "recipe.toml").write_text(f"name = {quote(method, ensure_ascii=False)}\nseed = {seed}\nrounds = {wanted}\n[local]\nepochs = {1 + ord(method[-1]) % 7}\n")
    with open(folder / "rounds.jsonl", "w") as lines:
        for n in range(1, rounds + 1):
            accuracy = 0.2 + lift + 0.6 * (1 - 0.9 ** (n / max(1, rounds / 40))) + 0.01 * ((n * 7919 + seed * 31) % 13 - 6) / 6
            lines.write(json.dumps({"round": n, "accuracy": accuracy, "loss": 2.3 - 2 * accuracy, "train_loss": 2.2 - 2 * accuracy,
                                    "participants": min(clients, 10), "dropped": [{"client": n % clients, "reason": "straggler"}] if n % 5 == 0 else [],
                                    "groups": 2, "idle": 0, "models": 1, "bytes_up": 50_000, "bytes_down": 50_000, "cost_s": 0.5,
                                    "compute_s": 0.4, "comm_s": 0.1, "cost_total_s": 0.5 * n, "wall_s": 0.02}) + "\n")
    half = clients // 2
    with open(folder / "groups.jsonl", "w") as lines:
        for before in (1, rounds // 2 + 1):
            members = [list(range(half)), list(range(half, clients))]
            if before > 1:
                members = [members[0][:-1], members[0][-1:] + members[1]]
            lines.write(json.dumps({"round": before, "method": "kmeans", "why": "start" if before == 1 else "regrouping", "count": 2,
                                    "members": members, "idle": [], "notes": [], "quality": {"cov_mean": 0.4, "cpd_median": 0.2}}) + "\n")
    names = names or [f"site {n}" for n in range(clients)]
    with open(folder / "clients.csv", "w") as table:
        table.write("client,name,samples,group,trained,dropped,accuracy,test_samples\n")
        for n in range(clients):
            name = names[n % len(names)].replace('"', '""')
            table.write(f'{n},"{name}",{50 + n},{0 if n < half - 1 else 1},{rounds},{rounds // 50},{0.5 + 0.4 * (n % 7) / 7:.3f},20\n')
    classes = classes or [str(c) for c in range(4)]
    (folder / "preparation.json").write_text(json.dumps({"source": "csv", "classes": classes}))
    size = len(classes)
    (folder / "summary.json").write_text(json.dumps({
        "run": run, "recipe": method, "seed": seed, "rounds": rounds, "stopped": "rounds", "signature": f"{seed:016x}",
        "accuracy": {"last": 0.8 + lift, "best": 0.81 + lift, "best_round": rounds}, "loss": {"last": 0.7}, "clients": clients, "models": 1,
        "groups": {"count": 2, "idle": 0, "size_min": half, "size_mean": half, "size_max": half + 1},
        "quality": {"cov_mean": 0.4, "cpd_median": 0.2}, "cost": {"bytes_up": 1, "bytes_down": 1},
        "time": {"wall_s": 12.5, "setup_s": 1, "train_s": 10, "eval_s": 1.5, "profile_s": 0, "group_s": 0},
        "metrics": {"macro_f1": 0.8, "classes": [{"name": name, "precision": 0.8, "recall": 0.8, "f1": 0.8, "samples": 50} for name in classes],
                    "confusion": [[40 if r == c else 3 for c in range(size)] for r in range(size)]}}))
    return folder


class Started:
    """A process that is ended whatever happens."""

    all = []

    def __init__(self, words, **more):
        self.process = subprocess.Popen([str(word) for word in words], text=True, **more)
        Started.all.append(self)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Page(Started):
    """A command with a live page, `muster ui` over a folder unless another one is given."""

    def __init__(self, out, *words, command=None):
        super().__init__(command or [MUSTER, "ui", "--out", out, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        seen = []
        found = None
        while not found:
            seen.append(self.process.stderr.readline())
            assert seen[-1], f"no address in: {seen}"
            found = re.search(r"live page: (http://127\.0\.0\.1:\d+)/", seen[-1])
        self.base = found[1]

    def end(self):
        begun = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(timeout=10)
        return status, time.monotonic() - begun


def check_page(browser, base, what):
    """What holds for every part of the page."""
    assert contrast_faults(browser) == [], f"{what}: {contrast_faults(browser)}"
    assert unlabelled(browser) == [], f"{what}: {unlabelled(browser)}"
    assert wider_than_the_screen(browser) == 0, f"{what}: {wider_than_the_screen(browser)} pixels too wide"
    assert browser.count("h1") == 1, what
    assert browser.value("document.title") != "pwned", what
    assert browser.count("main script, main img, main iframe") == 0, what
    check_quiet(browser, base, what)


def check_quiet(browser, base, what):
    complaints = browser.complaints()
    assert complaints == [], f"{what}: {complaints}"
    elsewhere = browser.requests(other_than=base)
    assert elsewhere == [], f"{what}: {elsewhere}"


def rows(browser):
    return browser.run("return [...document.querySelectorAll('tbody tr th a')].map(a => a.textContent)")


def test_list(browser, base):
    browser.open(base + "/")
    browser.wait("document.querySelectorAll('tbody tr').length === 6")
    browser.wait("document.getElementById('live').textContent === 'Live'")
    check_page(browser, base, "list")
    browser.shot("page-list")
    # The address says nothing of a filter, the field does.
    browser.fill("#filter", "fedgsp")
    browser.wait("document.querySelectorAll('tbody tr').length === 2")
    assert set(rows(browser)) == {"fedgsp-s1", "fedgsp-s2"}
    browser.fill("#filter", "no such run")
    browser.wait("document.body.innerText.includes('No run is like this')")
    browser.run("const f = document.getElementById('filter'); f.value = ''; f.dispatchEvent(new Event('input'))")
    browser.click("button[data-key=accuracy]")
    assert rows(browser)[0] == "fedgsp-s1", rows(browser)
    browser.click("button[data-key=accuracy]")
    assert rows(browser)[-1] in ("fedgsp-s1", "fedgsp-s2"), rows(browser)
    assert browser.count("th[aria-sort=ascending]") == 1


def test_run(browser, base):
    browser.open(base + "/run/fedgsp-s1")
    browser.wait("document.querySelectorAll('canvas').length >= 3")
    check_page(browser, base, "run")
    browser.shot("page-run")
    assert "fedgsp-s1" in browser.value("document.title")
    # A chart has its numbers beside it.
    browser.click("details summary")
    browser.wait("document.querySelectorAll('details table tbody tr').length >= 20")
    browser.click("a[href='/run/fedgsp-s1/clients']")
    browser.wait("document.querySelectorAll('tbody tr').length === 10")
    check_page(browser, base, "clients")
    browser.fill("#filter", "site 3")
    browser.wait("document.querySelectorAll('tbody tr').length === 1")
    browser.click("tbody a")
    browser.wait("document.querySelector('h1').textContent === 'site 3'")
    browser.wait("document.querySelectorAll('figure').length >= 1")
    check_page(browser, base, "client")
    shown = browser.value("document.body.innerText")
    assert "53" in shown and "group 0" in shown and "rounds in which it trained" in shown, shown
    browser.open(base + "/run/fedgsp-s1/client/4")
    browser.wait("document.body.innerText.includes('straggler') || document.body.innerText.includes('regrouping')")
    shown = browser.value("document.body.innerText")
    assert "group 0" in shown and "group 1" in shown, "it has moved: " + shown
    browser.shot("page-client")
    browser.open(base + "/run/fedgsp-s1/group/1")
    browser.wait("document.querySelectorAll('tbody tr').length >= 6")
    check_page(browser, base, "group")
    browser.back()
    browser.wait("document.querySelector('h1').textContent === 'site 4'")
    for path in ("/run/none", "/run/fedgsp-s1/client/999", "/run/..%2f..%2fetc", "/nowhere", "/run/fedgsp-s1/group/99"):
        browser.open(base + path)
        browser.wait("/not here|nothing here/.test(document.querySelector('h1').textContent)")
    browser.complaints()  # the browser tells of the 404s


def test_compare(browser, base):
    browser.open(base + "/")
    browser.wait("document.querySelectorAll('tbody tr').length === 6")
    assert browser.value("document.getElementById('compare').hasAttribute('href')") is False
    for run in ("fedavg-s1", "fedavg-s2", "fedgsp-s1", "fedgsp-s2"):
        browser.click(f"input[data-run={run}]")
    assert browser.text("#compare") == "Compare 4 runs"
    browser.click("#compare")
    browser.wait("document.querySelectorAll('canvas').length >= 1")
    check_page(browser, base, "comparison")
    shown = browser.value("document.body.innerText")
    assert "fedavg" in shown and "fedgsp" in shown and "in 2 of 2" in shown, shown
    browser.shot("page-compare")


def test_keyboard(browser, base):
    """From the list to a comparison and a chart's table, without a mouse."""
    browser.open(base + "/")
    browser.wait("document.querySelectorAll('tbody tr').length === 6")
    browser.press("Tab")
    assert browser.value("document.activeElement.textContent") == "Skip to the content"
    browser.press("Enter")

    def tab_to(expression, most=60):
        for _ in range(most):
            browser.press("Tab")
            if browser.value(f"(e => {expression})(document.activeElement)"):
                outline = browser.value("getComputedStyle(document.activeElement).outlineStyle")
                assert outline != "none", "the focus cannot be seen: " + browser.value("document.activeElement.outerHTML.slice(0, 200)")
                return
        raise AssertionError("not reached by Tab: " + expression)

    tab_to("e.dataset.key === 'seed'")
    browser.press("Enter")
    assert browser.value("document.activeElement.dataset.key") == "seed", "the focus is lost"
    assert browser.value("document.activeElement.closest('th').getAttribute('aria-sort')") == "ascending"
    for _ in range(2):
        tab_to("e.type === 'checkbox'")
        browser.press("Space")
    assert browser.count("input:checked") >= 2
    browser.run("document.getElementById('filter').focus()")
    tab_to("e.id === 'compare'")
    browser.press("Enter")
    browser.wait("document.querySelectorAll('canvas').length >= 1")
    assert browser.value("document.activeElement.tagName") == "H1"
    tab_to("e.tagName === 'SUMMARY'")
    browser.press("Enter")
    browser.wait("document.querySelector('details[open] table')")
    browser.run("document.getElementById('theme').focus()")
    browser.press("dark")
    browser.wait("document.documentElement.dataset.theme === 'dark'")
    check_page(browser, base, "dark")
    browser.shot("page-dark")
    browser.press("Home")
    browser.wait("!document.documentElement.dataset.theme")


def test_phone(browser, base):
    browser.resize(360, 740, phone=True)
    for path, ready in (("/", "tbody tr"), ("/run/fedgsp-s1", "canvas"), ("/run/fedgsp-s1/clients", "tbody tr"),
                        ("/run/fedgsp-s1/client/4", "figure"), ("/compare?runs=fedavg-s1/fedgsp-s1", "canvas"), ("/run/evil", "canvas")):
        browser.open(base + path)
        browser.wait(f"document.querySelector('{ready}')")
        check_page(browser, base, "phone, " + path)
        if path in ("/", "/run/fedgsp-s1"):
            browser.shot("page-phone" + ("-run" if len(path) > 1 else ""))
    browser.resize(1280, 900)


def test_names(browser, base):
    """They are text wherever they are shown."""
    for path, ready in (("/", "tbody tr"), ("/run/evil", "canvas"), ("/run/evil/clients", "tbody tr"), ("/run/evil/client/0", "dd"),
                        ("/run/evil/client/1", "dd"), ("/run/evil/client/3", "dd"), ("/run/evil/group/0", "tbody tr"),
                        ("/compare?runs=evil/fedavg-s1", "canvas"), ("/run/" + urllib.parse.quote(EVIL_RUN), "canvas"),
                        ("/run/" + urllib.parse.quote(EVIL_RUN) + "/client/0", "dd")):
        browser.open(base + path)
        browser.wait(f"document.querySelector('{ready}')")
        time.sleep(0.1)  # for what an injected script would do
        check_page(browser, base, "names, " + path)
    browser.open(base + "/run/evil/clients")
    browser.wait("document.querySelectorAll('tbody tr').length === 10")
    shown = rows(browser)
    assert EVIL[0] in shown and EVIL[1] in shown, shown
    browser.shot("page-names")
    browser.open(base + "/")
    browser.wait("document.querySelectorAll('tbody tr').length === 6")
    assert "<b>tagged</b>" in browser.value("document.body.innerText"), "a tag is shown as text"


def test_large(browser, base):
    """Ten thousand rounds and a thousand clients: there within two seconds, and what is sent is bounded."""
    browser.open("about:blank")
    browser.requests(other_than="")  # those of the page before
    with urllib.request.urlopen(base + "/api/run/large") as answer:
        size = len(answer.read())
    assert size < 1_500_000, size
    browser.cdp("Performance.enable", timeDomain="threadTicks")
    begun = time.monotonic()
    browser.open(base + "/run/large")
    browser.wait("document.querySelectorAll('canvas').length >= 3")
    browser.wait("document.querySelector('h1').textContent === 'large'")
    seconds = time.monotonic() - begun
    # What the page's own thread worked, which does not depend on who else uses this machine.
    worked = next(m["value"] for m in browser.cdp("Performance.getMetrics")["metrics"] if m["name"] == "TaskDuration")
    print(f"10,000 rounds, 1,000 clients: {size / 1000:.0f} kB, shown after {seconds:.2f} s, {worked:.2f} s of them work of the page")
    assert worked < 1, worked
    assert seconds < 2 * slowness(), seconds
    browser.open(base + "/run/large/clients")
    browser.wait("document.querySelectorAll('tbody tr').length === 100")
    check_page(browser, base, "large")


def slowness():
    """How many processes wait for a core of this machine, which the page cannot help: 1 on an idle one."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def test_live(browser, base, out):
    """Rounds of a run that is going appear without a reload, in the list and in the charts."""
    browser.open("about:blank")
    browser.requests(other_than="")
    browser.complaints()  # of streams whose server has ended
    browser.open(base + "/")
    browser.wait("document.querySelectorAll('tbody tr').length === 6")
    run = subprocess.Popen([MUSTER, "run", "fedavg", "--task", "synthetic", "--rounds", "100000", "--out", str(out), "--quiet",
                            "--threads", "1", "--set", "checkpoint-every=100000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        browser.wait("document.querySelectorAll('tbody tr').length === 7", seconds=30)
        browser.run("window.same = true")  # gone after a reload
        pill = "document.querySelector('.pill.run')"
        browser.wait(pill, seconds=30)
        link = browser.value(f"{pill}.closest('tr').querySelector('a').getAttribute('href')")
        rounds = "Number(document.querySelector('.pill.run').closest('tr').querySelector('[data-label=Rounds]').textContent.split(' ')[0].replaceAll(',', ''))"
        before = browser.value(rounds)
        browser.wait(f"{rounds} > {before}", seconds=20)
        browser.click(f"a[href='{link}']")
        browser.wait("document.querySelectorAll('canvas').length >= 1", seconds=20)
        shown = "Number((document.querySelector('progress') || {value: 0}).value)"
        before = browser.value(shown)
        browser.wait(f"{shown} > {before}", seconds=20)
        points = "Chart.getChart(document.querySelector('canvas')).data.datasets[0].data.slice(-1)[0].x"
        before = browser.value(points)
        browser.wait(f"{points} > {before}", seconds=20)
        assert browser.value("window.same"), "it was loaded again"
        browser.shot("page-live")
        check_quiet(browser, base, "live")
    finally:
        run.send_signal(signal.SIGINT)
        run.wait(timeout=60)
    browser.wait("document.querySelector('.pill.warn')", seconds=20)


def test_end(browser, page):
    """Ctrl-C ends it at once, with a stream open; the page says so, and goes on when there is a server again."""
    status, seconds = page.end()
    assert status == 130, status
    assert seconds < 3 * slowness(), seconds
    browser.wait("document.getElementById('live').dataset.state === 'off'")
    browser.complaints()


def test_token(browser, out, folder):
    file = folder / "token"
    file.write_text(TOKEN + "\n")
    page = Page(out, "--token-file", str(file))
    browser.open("about:blank")
    browser.requests(other_than="")
    try:
        browser.open(page.base + "/")
        browser.wait("document.querySelector('#token')")
        browser.complaints()  # the browser tells of the 401
        browser.fill("#token", "not-the-token-at-all")
        browser.press("Enter")
        browser.wait("document.querySelector('[role=alert]').textContent.includes('not the token')")
        browser.complaints()
        check_page(browser, page.base, "token")
        browser.open(page.base + "/#token=" + TOKEN)
        browser.wait("document.querySelectorAll('tbody tr').length >= 5")
        assert TOKEN not in browser.address(), browser.address()
        assert browser.value("document.cookie") == "", "scripts can read the cookie"
        browser.open(page.base + "/")
        browser.wait("document.querySelectorAll('tbody tr').length >= 5")
        check_quiet(browser, page.base, "with the cookie")
    finally:
        assert page.end()[0] == 130


def test_beside(folder):
    """--ui says where the page is, shows the run, ends with it, and changes nothing of it."""
    words = [MUSTER, "run", "fedavg", "--task", "synthetic", "--rounds", "5", "--json", "--out", str(folder / "beside")]
    plain = subprocess.run(words, check=True, capture_output=True, text=True)
    shown = subprocess.run(words + ["--ui"], check=True, capture_output=True, text=True)
    assert json.loads(plain.stdout)["signature"] == json.loads(shown.stdout)["signature"]
    address = re.search(r"live page: (http://127\.0\.0\.1:\d+/)", shown.stderr)
    assert address and "`muster ui --out" in shown.stderr, shown.stderr
    try:
        urllib.request.urlopen(address[1], timeout=5)
        raise AssertionError("the page is still there")
    except OSError:
        pass


def test_compare_beside(browser, folder):
    """`compare --ui`: its runs come into the list one by one, and can be compared while others go on."""
    out = folder / "compared"
    page = Page(out, command=[MUSTER, "compare", "fedavg", "fedgsp", "--task", "synthetic", "--seeds", "1,2", "--rounds", "100000",
                              "--out", out, "--threads", "1", "--quiet", "--ui"])
    browser.open("about:blank")
    browser.requests(other_than="")
    browser.complaints()
    browser.open(page.base + "/")
    browser.wait("document.querySelectorAll('.pill.run').length >= 1", seconds=30)
    run = browser.value("document.querySelector('.pill.run').closest('tr').querySelector('a').getAttribute('href')")
    check_page(browser, page.base, "beside compare")
    browser.open(page.base + run)
    browser.wait("document.querySelectorAll('canvas').length >= 1", seconds=30)
    check_page(browser, page.base, "a run of compare")
    browser.open("about:blank")
    assert page.end()[0] == 130
    browser.complaints()


DEPLOYED = """name = "deployed"
rounds = 100000
checkpoint-every = 100000
[data]
source = "synthetic"
clients = 4
test-fraction = 0.2
[model]
name = "softmax"
[deployment]
round-deadline-s = 1.0
wait-clients = 0.5
"""


def test_roster(browser, folder):
    """`cloud --ui`: who is connected, who has gone and why, and who was dropped from rounds."""
    recipe = folder / "deployed.toml"
    recipe.write_text(DEPLOYED)
    announced = folder / "cloud.address"
    page = Page(None, command=[MUSTER_NET, "cloud", recipe, "--listen", "127.0.0.1:0", "--insecure", "--announce", announced,
                               "--out", folder / "deployed", "--quiet", "--ui"])
    until = time.monotonic() + 30
    while not announced.exists() and time.monotonic() < until:
        time.sleep(0.05)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    clients = [Started([MUSTER_NET, "client", "--to", announced.read_text().strip(), "--clients", those, "--insecure", "--quiet"], **quiet)
               for those in ("0-1", "2-3")]
    browser.open("about:blank")
    browser.requests(other_than="")
    browser.complaints()
    browser.open(page.base + "/")
    browser.wait("document.querySelector('.pill.run')", seconds=30)
    browser.click("tbody th a")
    browser.wait("[...document.querySelectorAll('a')].some(a => a.getAttribute('href').endsWith('/roster'))", seconds=20)
    browser.click("a[href$='/roster']")
    browser.wait("document.body.innerText.includes('4 of 4 clients are connected')", seconds=20)
    browser.wait("document.querySelectorAll('.pill.good').length === 4")
    check_page(browser, page.base, "roster")
    clients[1].kill()
    browser.wait("document.body.innerText.includes('2 of 4 clients are connected')", seconds=20)
    gone = "[...document.querySelectorAll('tbody tr')].filter(row => row.innerText.includes('gone'))"
    # Why it went, and of which round it was dropped, each beside its client.
    browser.wait(f"{gone}.length === 2 && {gone}.every(row => /round \\d+: \\w+/.test(row.innerText))", seconds=20)
    assert browser.value(f"{gone}.every(row => row.querySelector('[data-label=\"Why it went\"]').textContent.length > 5)"), browser.value("document.body.innerText")
    check_page(browser, page.base, "roster with drops")
    browser.shot("page-roster")
    browser.resize(360, 740, phone=True)
    check_page(browser, page.base, "roster on a phone")
    browser.shot("page-roster-phone")
    browser.resize(1280, 900)
    with urllib.request.urlopen(browser.address().replace("/run/", "/api/run/")) as answer:
        roster = json.load(answer)
    assert roster["live"] and roster["deployed"] and roster["here"] == 2, roster
    browser.open("about:blank")
    assert page.end()[0] == 130
    browser.complaints()
    assert list((folder / "deployed").glob("*/report.html")), "a deployed run leaves its report, too"


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        out = folder / "runs"
        for seed in (1, 2):
            write_run(out, f"fedavg-s{seed}", seed=seed)
            write_run(out, f"fedgsp-s{seed}", method="fedgsp", seed=seed, lift=0.05 - 0.01 * seed)
        write_run(out, "evil", method=EVIL[0], names=EVIL, classes=EVIL)
        write_run(out, EVIL_RUN, method=EVIL[2], names=EVIL, classes=EVIL)
        (out / EVIL_RUN / "tags").write_text("<b>tagged</b>\n")
        big = folder / "big"
        write_run(big, "large", rounds=10_000, clients=1_000)
        with Browser(shots=SHOTS) as browser:
            browser.prefer("light")
            page = Page(out)
            tests = [test_list, test_run, test_compare, test_keyboard, test_phone, test_names]
            for test in tests:
                timed(test, browser, page.base)
            large = Page(big)
            timed(test_large, browser, large.base)
            assert large.end()[0] == 130
            timed(test_token, browser, out, folder)
            timed(test_live, browser, page.base, out)
            timed(test_end, browser, page)
            timed(test_beside, folder)
            timed(test_compare_beside, browser, folder)
            if MUSTER_NET:
                timed(test_roster, browser, folder)


def timed(test, *arguments):
    begun = time.monotonic()
    test(*arguments)
    print(f"{test.__name__} {time.monotonic() - begun:.1f} s", flush=True)


try:
    main()
finally:
    for one in Started.all:
        one.kill()
