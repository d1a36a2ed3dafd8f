"""The pictures of reports in the documentation, each from a run folder with its report.html.

    .venv/bin/python benchmarks/pictures.py RUN

RUN of ``chaos run --backend sim --bug ack-before-replicate --seed 5`` makes the numbered picture of
docs/start/read-a-report.md; a valid one of
``chaos run --backend sim --nemesis random-partition --time-limit 30 --rate 200 --seed 1443185451`` that of the README
and of docs/start/first-run.md.
"""

import sys
from pathlib import Path
from typing import Final

from playwright.sync_api import FloatRect, Page, ViewportSize, sync_playwright
from rows import ROOT

from chaos.core.verdict import Results
from chaos.storage.manifest import read_checked
from cluster.doctor import find_chromium

RED: Final = ROOT / "docs" / "start" / "red-report.png"
GREEN: Final = ROOT / "docs" / "start" / "report.png"
SIZE: Final[ViewportSize] = {"width": 1000, "height": 1400}
PLACES: Final = (
    ("h1 .stamp", ""),
    (".lede", ""),
    (".cmds", ""),
    ("h2", "Verdict"),
    ("#panels", "fault"),
    ("#panels", "anomalies"),
    ("#panels", "role"),
    ("#panels", "latency"),
    ("#panels", "operations/s"),
)
"""What gets a number, in the order of the text: a selector, and the words of a heading or the label of a panel."""
_MARK: Final = """([selector, words, number]) => {
  const panels = document.getElementById('panels'), drawn = JSON.parse(panels.dataset.panels);
  const found = [...document.querySelectorAll(selector)].find(one => one === panels || !words || one.textContent === words);
  const box = found.getBoundingClientRect(), panel = found === panels ? drawn.find(one => one[0] === words) : null;
  const mark = document.createElement('div'); mark.textContent = number;
  const y = box.top + scrollY + (panel ? panel[1] : 0);
  Object.assign(mark.style, {position: 'absolute', left: Math.max(2, box.left - 34) + 'px', top: y + 'px', width: '26px',
    height: '26px', borderRadius: '50%', background: '#1b1f24', color: '#fff', font: '700 14px/26px sans-serif',
    textAlign: 'center', zIndex: 9});
  document.body.append(mark); return y;
}"""


def main(folder: Path) -> None:
    """Write the picture that this run is for."""
    program = find_chromium()
    if program is None:
        raise SystemExit("no chromium on this machine: apt-get install chromium")
    results = read_checked(folder / "results.json", Results)
    if results is None:
        raise SystemExit(f"{folder} was not judged: give the folder of a finished run")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE)
        page.goto((folder / "report.html").resolve().as_uri())
        page.wait_for_selector("body[data-done]")
        page.add_style_tag(content=".contents{position:static}")  # it would lie on the picture
        target = GREEN if results.valid is True else RED
        _what_happened(page, target) if results.valid is True else _numbered(page, target)
        browser.close()
    print(target)


def _what_happened(page: Page, target: Path) -> None:
    """The panels alone."""
    page.add_style_tag(content="#oplist{display:none!important}")
    box = page.locator("section[aria-labelledby=happened]").bounding_box()
    assert box is not None
    clip = FloatRect(x=0, y=box["y"] - 8, width=SIZE["width"], height=box["height"] + 16)
    page.screenshot(path=target, full_page=True, clip=clip)


def _numbered(page: Page, target: Path) -> None:
    """From the top of the page to the rates, with a number at each of the places."""
    page.add_style_tag(content="main{padding-left:46px}")
    page.wait_for_timeout(300)  # the panels are drawn anew for the narrower page
    last = max(page.evaluate(_MARK, [*place, number]) for number, place in enumerate(PLACES, 1))
    page.screenshot(path=target, full_page=True, clip=FloatRect(x=0, y=0, width=SIZE["width"], height=last + 120))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("give the folder of one run")
    main(Path(sys.argv[1]))
