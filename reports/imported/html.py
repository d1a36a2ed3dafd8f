"""The page of a history as text. Pure but for reading the package's own template and style once."""

from pathlib import Path

from chaos.core.verdict import Results
from reports.imported.lanes import BAR
from reports.imported.objects import Objects
from reports.imported.page import history_page
from reports.page.html import template
from reports.page.ring import BOX


def render(path: str, results: Results, command: str, objects: Objects) -> str:
    """The page's text; see ``history_page``."""
    made, css = template("history.html.j2")
    return made.render(d=history_page(path, results, command, objects), css=css, bar=BAR, box=BOX)


def write(target: Path, path: str, results: Results, command: str, objects: Objects) -> None:
    """Write the page, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    partial = target.with_name(f".{target.name}.partial")
    partial.write_text(render(path, results, command, objects), encoding="utf-8")
    partial.replace(target)
