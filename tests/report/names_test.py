"""Whatever runs, recipes, classes, clients and tags are called, what is written about them keeps its form: pages, Markdown,
CSV, LaTeX, JSON, MLflow's files, and tables on a terminal. Names are drawn from pieces that mean something to one of these.

    names_test.py MUSTER [CASES]
"""

import csv
import html.parser
import io
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from report_page_test import HOSTILE, write_run  # noqa: E402

PIECES = HOSTILE[:4] + ["\u202e", "\u200f", "\u061c", "\x1b[31m", "\x07", "\r", "\n", "\t", "\x7f", "\x9b", "=cmd()", "'", '"', ",", ";", "|", "`", "*", "_",
                        "[x](javascript:alert(1))", "&lt;", "#", "$x$", "%", "\\", "\\end{tabular}", "{", "}", "~", "^", "..", "/", "/etc/passwd", "..\\", "\u0000",
                        "東京", "é", "😀", " ", "w" * 10_000]
FORMATS = ("html", "md", "csv", "latex", "json")


def drawn(draw, pieces=PIECES):
    return "".join(draw.choice(pieces) for _ in range(draw.randint(1, 4))).replace("\u0000", "0")


def muster(*words):
    done = subprocess.run([sys.argv[1], *map(str, words)], capture_output=True, timeout=60)
    assert done.returncode == 0, (words, done.stderr)
    for told in (done.stdout, done.stderr):
        assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", told) or "csv" in words, (words, told[:400])
    return done.stdout.decode()


class Tags(html.parser.HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, tuple(name for name, _ in attributes)))


def unescaped(letter, text):
    """How often the letter is there without a backslash that is itself none's."""
    return len(re.findall(r"(?<!\\)(?:\\\\)*" + re.escape(letter), text))


def form(name, text):
    """What must not depend on names."""
    if name == "html":
        return Tags(text).found
    if name == "json":
        return sorted(json.loads(text))
    if name == "csv":
        return [len(row) for row in csv.reader(io.StringIO(text, newline=""))]
    lines = text.split("\n")
    if name == "md":
        assert not any(unescaped(letter, line) for line in lines for letter in "<`[" if not line.startswith("![")), text
        return [(unescaped("|", line), line[:2] if line[:2] in ("# ", "##") else "") for line in lines]
    body = [line for line in lines if not line.startswith("%")]
    assert not any(unescaped(letter, line) for line in body for letter in "#%_~^"), text
    return [(unescaped("&", line), unescaped("{", line) - unescaped("}", line)) for line in body] + [line for line in body if line.startswith(("\\begin", "\\end"))]


def make(out, run, recipe, names, tag):
    write_run(out / run, 3, 6, names)
    quoted = json.dumps(recipe, ensure_ascii=False).replace("\x7f", "\\u007f")  # as TOML has it, too
    (out / run / "recipe.toml").write_text(f"name = {quoted}\nrounds = 3\nseed = 1\n")
    (out / run / "tags").write_bytes(tag.encode() + b"\n")
    return out / run


def check_mlflow(out, folder):
    muster("runs", "export", "--out", out, "--mlflow", folder)
    inside = folder.resolve()
    found = [pathlib.Path(where) / one for where, _, files in os.walk(folder) for one in files]
    assert any(path.name == "meta.yaml" for path in found)
    for path in found:
        assert path.resolve().is_relative_to(inside), path
        assert re.fullmatch(r"[\w.\-]+", path.name), path
        if path.name == "meta.yaml":
            for line in path.read_text().splitlines():
                assert re.fullmatch(r"\w+: ('[\w]*'|\"([^\"\\\x00-\x1f]|\\.)*\"|\[\]|null|[\w]+)", line), line
        elif path.parent.name in ("params", "tags"):
            assert "\n" not in path.read_text() and len(path.read_text().encode()) <= 500, path


def main(cases):
    with tempfile.TemporaryDirectory(prefix="muster-names-") as scratch:
        folder = pathlib.Path(scratch)
        plain = make(folder / "plain", "plain", "mine", ["site a", "site b", "site c"], "good")
        wanted = {name: form(name, muster("report", plain, "--format", name, "--out", "/dev/stdout") if name == "html" else
                             muster("report", plain, "--format", name)) for name in FORMATS}
        for case in range(cases):
            draw = random.Random(case)
            out = folder / f"runs-{case}"
            # A folder's name has at most 255 bytes, and no slash.
            run = drawn(draw).replace("/", "-").encode()[:120].decode(errors="ignore").strip(". ") or "run"
            run = run.lstrip("-") or "run"
            tag = "".join(c for c in drawn(draw) if c.isprintable() and not c.isspace() and c != ",")[:20] or "tag"
            path = make(out, run, drawn(draw), [drawn(draw) for _ in range(3)], tag)
            for name in FORMATS:
                text = muster("report", path, "--format", name, *(["--out", "/dev/stdout"] if name == "html" else []))
                assert form(name, text) == wanted[name], f"case {case}: {name} has another form\n{text[:3000]}"
            muster("runs", "--out", out)
            muster("runs", "show", path, "--out", out)
            muster("runs", "diff", path, path, "--out", out)
            check_mlflow(out, folder / f"mlflow-{case}")
        print(f"{cases} cases")


if __name__ == "__main__":
    main(int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("MUSTER_NAMES", "6")))
