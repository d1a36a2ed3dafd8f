"""The numbered picture of docs/start/read-a-report.md, from a run folder.

    .venv/bin/python benchmarks/pictures.py RUN

RUN is the folder of a run of ``chaos run --bug ack-before-replicate`` with its report.html.
"""

import sys
from pathlib import Path
from typing import Final

from playwright.sync_api import ViewportSize, sync_playwright
from rows import ROOT

from cluster.doctor import find_chromium

TARGET: Final = ROOT / "docs" / "start" / "red-report.png"
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
    """Write the picture."""
    program = find_chromium()
    if program is None:
        raise SystemExit("no chromium on this machine: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE)
        page.goto((folder / "report.html").resolve().as_uri())
        page.wait_for_selector("body[data-done]")
        page.add_style_tag(content="main{padding-left:46px}")
        page.wait_for_timeout(300)  # the panels are drawn anew for the narrower page
        last = max(page.evaluate(_MARK, [*place, number]) for number, place in enumerate(PLACES, 1))
        page.screenshot(
            path=TARGET, full_page=True, clip={"x": 0, "y": 0, "width": SIZE["width"], "height": last + 120}
        )
        browser.close()
    print(TARGET)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("give the folder of one run")
    main(Path(sys.argv[1]))
