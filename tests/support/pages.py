"""Pages in a real browser: sizes of windows, waiting, and what a reader would trip over."""

from typing import Any, Final

from chaos.core.clock import Deadline

WIDE: Final = {"width": 1180, "height": 900}
NARROW: Final = {"width": 390, "height": 800}
PATIENCE_S: Final = 120
"""How long what must come is waited for: a browser that shares its machine starts and draws slowly."""
SIZES: Final = (
    ("light", {"width": 1400, "height": 900}),
    ("dark", {"width": 390, "height": 800}),
    ("light", {"width": 768, "height": 1024}),
)
"""Each with the colours that a page is looked at in."""
WORD: Final = 24
"""A longer word may be broken: it is a path, an id or a hash."""


def until(page: Any, condition: str) -> None:
    """Wait for a condition in the page; its policy forbids the driver's own way, which evaluates strings."""
    deadline = Deadline(condition, PATIENCE_S)
    while not page.evaluate(condition):
        deadline.check()
        page.evaluate("() => new Promise(requestAnimationFrame)")


def unfold(page: Any) -> None:
    """Open all that is folded and wait until what is made when it is opened is there."""
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    until(page, _FILLED)


_FILLED: Final = """[['#oplist', 'table'], ['#loglist', 'table'], ['details.beside', '.loglines']].every(
  ([folded, inside]) => [...document.querySelectorAll(folded)].every(
    e => !e.checkVisibility() || e.querySelector(inside)))"""


def hindrances(page: Any) -> list[Any]:
    """What hinders readers of an open page: what axe-core finds and what is cut off or broken, at each width and in
    both colours, and what can be used and keys do not reach. Nothing of it may be there.
    """
    unfold(page)
    found: list[Any] = []
    for scheme, size in SIZES:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(size)
        until(page, f"innerWidth === {size['width']}")
        if page.evaluate("document.documentElement.scrollWidth") > size["width"]:
            found.append(f"wider than {size['width']}")
        found += [*violations(page), *cut_off(page), *broken_words(page)]
    return found + unreached(page)


def violations(page: Any) -> list[tuple[str, list[str]]]:
    """What axe-core finds: each rule with the first elements that break it."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in found]


def unreached(page: Any) -> list[str]:
    """What can be used and the tab key does not come to; of buttons that exclude each other it comes to the chosen."""
    page.evaluate("document.addEventListener('focusin', e => { e.target.dataset.reached = 1; })")
    usable = """[...document.querySelectorAll('a[href], button, select, input, summary, [tabindex="0"]')]
      .filter(e => e.checkVisibility() && !e.disabled && (e.type !== 'radio' || e.checked))"""
    scrolled = "document.querySelectorAll('.scroll').length"  # browsers stop at some of these too
    for _ in range(page.evaluate(f"{usable}.length + {scrolled} + 5")):
        page.keyboard.press("Tab")
    found: list[str] = page.evaluate(f"{usable}.filter(e => !e.dataset.reached).map(e => e.outerHTML.slice(0, 90))")
    return found


def broken_words(page: Any) -> list[str]:
    """Words of bounded length that stand on two lines."""
    found: list[str] = page.evaluate(
        r"""longest => {
          const out = [], walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) {
            const node = walker.currentNode;
            if (!node.parentElement.checkVisibility()) continue;
            for (const match of node.data.matchAll(/[\p{L}\p{N}.]+/gu)) {
              if (match[0].length > longest) continue;
              const range = document.createRange();
              range.setStart(node, match.index); range.setEnd(node, match.index + match[0].length);
              const seen = [...range.getClientRects()].filter(r => r.width > 0);
              const tops = new Set(seen.map(r => Math.round(r.top / 4)));
              if (tops.size > 1) out.push(match[0]);
            }
          }
          return out;
        }""",
        WORD,
    )
    return found


def overlaps(page: Any, selector: str) -> list[tuple[str, str]]:
    """Pairs of texts whose boxes lie on each other."""
    found: list[tuple[str, str]] = page.evaluate(
        """selector => {
          const every = [...document.querySelectorAll(selector)];
          const seen = every.filter(e => e.checkVisibility() && e.textContent.trim());
          const boxes = seen.map(e => [e.textContent, e.getBoundingClientRect()]), out = [];
          for (let i = 0; i < boxes.length; i++) for (let j = 0; j < i; j++) {
            const [a, b] = [boxes[i][1], boxes[j][1]];
            const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (across > 1 && down > 3) out.push([boxes[j][0], boxes[i][0]]);
          }
          return out;
        }""",
        selector,
    )
    return found


def clipped(page: Any, selector: str, within: str) -> list[str]:
    """Texts that reach beyond the sides of what they stand in."""
    found: list[str] = page.evaluate(
        """([selector, within]) => [...document.querySelectorAll(selector)].filter(e => {
          if (!e.checkVisibility()) return false;
          const a = e.getBoundingClientRect(), b = e.closest(within).getBoundingClientRect();
          return a.width > 0 && (a.left < b.left - 1 || a.right > b.right + 1);
        }).map(e => e.textContent)""",
        [selector, within],
    )
    return found


def cut_off(page: Any) -> list[str]:
    """Texts of which a reader does not see all: wider than their box, or beyond the page where nothing scrolls."""
    found: list[str] = page.evaluate(
        """() => {
          const out = [], wide = document.documentElement.clientWidth;
          const scrolls = '.scroll, .loglines, .contents ul, .vh, #panels, select, option, .picture';
          const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) {
            const e = walker.currentNode.parentElement;
            if (!walker.currentNode.data.trim() || !e.checkVisibility() || e.closest(scrolls)) continue;
            const range = document.createRange(); range.selectNodeContents(walker.currentNode);
            const box = range.getBoundingClientRect(), style = getComputedStyle(e);
            const hides = style.overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1;
            if (box.width && (box.left < -1 || box.right > wide + 1 || hides)) out.push(walker.currentNode.data);
          }
          return out;
        }"""
    )
    return found
