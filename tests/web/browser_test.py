"""What the browser of the tests must find: a page with every fault that tests look for, and one with none.

    browser_test.py SHOTS
"""

import pathlib
import sys
import tempfile

from browser import Browser, contrast_faults, unlabelled, wider_than_the_screen

BAD = """<!DOCTYPE html><html lang="en"><meta name="viewport" content="width=device-width"><title>bad</title>
<p style="color: #999">pale</p><input><img src="http://127.0.0.1:2/picture.png">
<div style="width: 900px">wide</div><script>console.error("broken")</script>"""
GOOD = """<!DOCTYPE html><html lang="en"><meta name="viewport" content="width=device-width"><title>good</title>
<p>dark on white</p><label>Name <input id="name"></label><p id="out"></p>
<script>document.getElementById("name").oninput = e => { document.getElementById("out").textContent = e.target.value; }</script>"""


def main():
    with tempfile.TemporaryDirectory() as folder, Browser(shots=sys.argv[1]) as browser:
        bad, good = (pathlib.Path(folder) / name for name in ("bad.html", "good.html"))
        bad.write_text(BAD)
        good.write_text(GOOD)
        browser.resize(360, 700, phone=True)

        browser.open(bad.as_uri())
        assert contrast_faults(browser)[0].startswith("pale: 2."), contrast_faults(browser)
        assert len(unlabelled(browser)) == 2, unlabelled(browser)
        assert wider_than_the_screen(browser) > 500
        assert any("broken" in line for line in browser.complaints())
        assert browser.requests(other_than="file://") == ["http://127.0.0.1:2/picture.png"]
        try:
            browser.wait("document.title === 'never'", seconds=0.2)
        except AssertionError as error:
            assert "the page shows: pale" in str(error), error
        else:
            raise AssertionError("wait() does not wait")

        browser.open(good.as_uri())
        assert contrast_faults(browser) == [] and unlabelled(browser) == [] and wider_than_the_screen(browser) == 0
        browser.press("Tab", "typed", "Shift+Tab")
        assert browser.text("#out") == "typed", browser.text("#out")
        browser.fill("#name", "filled")
        assert browser.text("#out") == "filled"
        assert browser.complaints() == [] and browser.requests(other_than="file://") == []
        assert browser.shot("good").stat().st_size > 1000


main()
