"""Reports in a real browser, opened as files: drawn without a complaint and without a request, whatever names say.

    report_page_test.py MUSTER SHOTS
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "web"))
from browser import Browser, contrast_faults  # noqa: E402

HOSTILE = ["<img src=x onerror=alert(1)>", '"><script>alert(1)</script>', "</script><script>alert(1)</script>", "<!--",
           "\u202egpj.exe\u200f", "w" * 10000, "{{constructor}}"]


def write_run(folder, rounds, clients, names, seed=1, lift=0.0):
    folder.mkdir(parents=True)
    (folder / "recipe.toml").write_text(f'name = "mine"\nrounds = {rounds}\nseed = {seed}\n[local]\nepochs = {1 + (lift > 0)}\n')
    with open(folder / "rounds.jsonl", "w") as file:
        for r in range(1, rounds + 1):
            accuracy = 0.85 - 0.6 * math.exp(-r / (rounds / 5)) + 0.02 * math.sin(r * 1.7 + seed) + lift
            line = {"round": r, "accuracy": accuracy, "loss": 2 * math.exp(-r / rounds), "train_loss": 2.5 * math.exp(-r / rounds),
                    "client_worst": accuracy / 3, "client_p10": accuracy * 0.7, "client_p50": accuracy, "client_p90": min(1, accuracy * 1.15),
                    "participants": 9, "dropped": [{"client": r % clients, "reason": HOSTILE[0] if r % 3 else "straggler"}],
                    "bytes_up": 1e6, "bytes_down": 1e6, "compute_s": 0.5, "cost_total_s": 1.5 * r, "wall_s": 0.01}
            file.write(json.dumps(line) + "\n")
    with open(folder / "groups.jsonl", "w") as file:
        for r in (1, max(2, rounds // 2)):
            members = [[k for k in range(clients) if (k * (1 if r == 1 else 3)) % 4 == g] for g in range(4)]
            some = list(range(min(clients, 40)))
            far = [[0 if a == b else 0.2 + 0.8 * ((a - b) % 4 != 0) for b in some] for a in some]
            file.write(json.dumps({"round": r, "method": HOSTILE[2], "why": "start", "count": 4, "idle": [], "members": members,
                                   "labels": [[(g * 7 + c * 13) % 40 for c in range(len(names))] for g in range(4)],
                                   "quality": {"cov_mean": 0.5, "cpd_median": 0.3},
                                   "distances": {"metric": "cosine", "clients": some, "rows": far}}) + "\n")
    with open(folder / "clients.csv", "w") as file:
        file.write("client,name,samples,group,trained,dropped,accuracy,test_samples\n")
        for k in range(clients):
            name = names[k % len(names)].replace('"', '""')
            file.write(f'{k},"{name} {k}",10,{k % 4},5,1,{k / clients:.4f},7\n')
    (folder / "preparation.json").write_text(json.dumps({"classes": names}))
    size = len(names)
    confusion = [[9 if a == b else 1 for b in range(size)] for a in range(size)]
    (folder / "summary.json").write_text(json.dumps(
        {"stopped": "rounds", "signature": "0123456789abcdef", "data": HOSTILE[1], "accuracy": {"last": 0.8, "best": 0.85, "best_round": 3},
         "time": {"wall_s": 3, "setup_s": 1, "train_s": 1.5}, "cost": {"compute_s": 1, "bytes_up": 1e9},
         "metrics": {"classes": [{"name": n, "f1": 0.5, "samples": 10} for n in names], "confusion": confusion}}))


def report(muster, *words):
    done = subprocess.run([muster, "report", *map(str, words)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def check_page(browser, page, name, charts):
    begin = time.monotonic()
    browser.open(page.as_uri())
    browser.wait(f"document.querySelectorAll('canvas').length >= {charts}")
    assert time.monotonic() - begin < 20
    # Charts that were given their size are drawn in the next frame.
    browser.run("window.frames_seen = false; requestAnimationFrame(() => requestAnimationFrame(() => { window.frames_seen = true; }))")
    browser.wait("window.frames_seen")
    # Something is drawn on every canvas.
    empty = browser.run("""return Array.from(document.querySelectorAll('canvas')).filter(canvas => {
        const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        return !data.some(value => value !== 0); }).map(canvas => canvas.getAttribute('aria-label'))""")
    assert empty == [], empty
    assert browser.complaints() == [], "complaints"
    assert browser.requests(other_than="file://") == [], "requests"
    # Nothing that a name says is markup.
    assert browser.value("document.querySelectorAll('img, iframe, object, embed, link').length") == 0
    assert browser.value("Array.from(document.scripts).filter(s => /^.?alert/.test(s.textContent)).length") == 0
    # Every control has a name, and every chart a table.
    assert browser.value("Array.from(document.querySelectorAll('select, input')).every(e => e.closest('label'))")
    assert browser.value("Array.from(document.querySelectorAll('figure canvas')).every(c => c.closest('figure').querySelector('details'))")
    browser.shot(name, whole=True)


def main(muster, shots):
    with tempfile.TemporaryDirectory(prefix="muster-report-") as scratch, Browser(shots=pathlib.Path(shots)) as browser:
        folder = pathlib.Path(scratch)
        write_run(folder / "small", 30, 24, HOSTILE)
        report(muster, folder / "small", "--out", folder / "small.html")
        browser.resize(1280, 900)
        check_page(browser, folder / "small.html", "report-run", 10)
        assert browser.value("document.body.innerText.includes('<img src=x onerror=alert(1)>')")
        assert contrast_faults(browser) == []
        # The table of a chart, and another axis, by the keyboard.
        browser.run("document.querySelector('#figure-accuracy summary').focus()")
        browser.press("Enter")
        browser.wait("document.querySelectorAll('#figure-accuracy tbody tr').length === 30")
        browser.run("document.querySelector('#figure-accuracy select').focus()")
        browser.press("Down")
        browser.wait("document.querySelector('#figure-accuracy th').textContent.startsWith('simulated time')")
        browser.prefer("dark")
        browser.wait("getComputedStyle(document.body).backgroundColor === 'rgb(18, 22, 28)'")
        assert contrast_faults(browser) == []
        browser.shot("report-dark", whole=True)
        browser.prefer("light")
        browser.resize(360, 740, phone=True)
        assert browser.value("document.documentElement.scrollWidth") <= 360, "it is wider than a phone"
        browser.shot("report-phone", whole=True)
        browser.resize(1280, 900)

        for seed in (1, 2, 3):
            write_run(folder / f"a{seed}", 40, 8, ["x", "y"], seed)
            write_run(folder / f"b{seed}", 40, 8, ["x", "y"], seed, lift=0.06)
        runs = [folder / f"{method}{seed}" for method in "ab" for seed in (1, 2, 3)]
        report(muster, *runs, "--out", folder / "several.html")
        check_page(browser, folder / "several.html", "report-several", 4)

        write_run(folder / "long", 10000, 1000, ["site"] + [f"class {c}" for c in range(9)])
        report(muster, folder / "long", "--out", folder / "long.html")
        assert (folder / "long.html").stat().st_size <= 5_000_000
        browser.open(folder.joinpath("long.html").as_uri())
        ready = browser.value("performance.timing.domComplete - performance.timing.navigationStart")
        print(f"10,000 rounds, 1,000 clients: {folder.joinpath('long.html').stat().st_size / 1e6:.2f} MB, drawn after {ready} ms")
        check_page(browser, folder / "long.html", "report-long", 10)


if __name__ == "__main__":
    main(*sys.argv[1:])
