"""What tests of the page in a real browser look at."""

import json
from collections.abc import Callable
from typing import Any

Open = Callable[..., Any]
READOUT = "document.getElementById('readout').textContent"


def window(page: Any) -> tuple[float, float]:
    """The shown stretch of time, seconds."""
    start, end = page.eval_on_selector("#panels", "box => [+box.dataset.from, +box.dataset.to]")
    return start, end


def panels(page: Any) -> dict[str, tuple[float, float]]:
    """Label → (top, height) of each panel, pixels."""
    return {label: (y, h) for label, y, h in json.loads(page.get_attribute("#panels", "data-panels"))}


def colours(page: Any, label: str) -> dict[str, int]:
    """Colours in a panel's plot (fault bands left aside by their place) with how many pixels have each."""
    top, height = panels(page)[label]
    counted: dict[str, int] = page.evaluate(
        """([top, height]) => {
          const box = document.getElementById('panels'), canvas = box.querySelector('canvas');
          const ratio = canvas.width / box.dataset.width;
          const copy = new OffscreenCanvas(canvas.width, canvas.height);
          const context = copy.getContext('2d', {willReadFrequently: true});
          context.drawImage(canvas, 0, 0);
          const x = Math.ceil(135 * ratio), y = Math.ceil((top + 2) * ratio);
          const w = canvas.width - x - Math.ceil(16 * ratio), h = Math.floor((height - 4) * ratio);
          const data = context.getImageData(x, y, w, h).data;
          const seen = {};
          for (let i = 0; i < data.length; i += 4) {
            const key = data[i + 3] ? `${data[i]},${data[i + 1]},${data[i + 2]}` : 'none';
            seen[key] = (seen[key] || 0) + 1;
          }
          return seen;
        }""",
        [top, height],
    )
    return counted


def at(page: Any, seconds: float) -> float:
    """The x of a moment, in the page."""
    box = page.locator("#panels").bounding_box()
    start, end = window(page)
    gutter = 124 if box["width"] >= 720 else 52
    return float(box["x"] + gutter + (seconds - start) / (end - start) * (box["width"] - gutter - 8))


def show_panels(page: Any) -> Any:
    """Scroll the panels into view and return their box."""
    page.evaluate("document.getElementById('happened').scrollIntoView()")
    return page.locator("#panels").bounding_box()
