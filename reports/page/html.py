"""``report.html``: one page that needs nothing else.

Around the pure ``reports.page.build.report_data``. Everything from the run is escaped by the
template engine or, inside the page's data, by ``json_for_script``; the page's own policy forbids requests.
"""

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from markupsafe import Markup, escape

from reports import words
from reports.folder import Parts
from reports.page.build import report_data
from reports.page.error_variants import labels_of
from reports.page.latency_points import LATENCY_FLOOR_MS, LATENCY_STEPS, TICKS_A_SECOND
from reports.page.model import ReportData
from reports.page.ring import BOX
from reports.page.terms_explained import link_terms
from reports.page.trace import WIDTH
from reports.reporter import PAGE

if TYPE_CHECKING:
    from jinja2 import Environment, Template

REPORT: Final = "report.html"
TEMPLATE: Final = "report.html.j2"
_ASSETS: Final = Path(__file__).parents[1] / "assets"
_LONG_NUMBERS: Final = re.compile(r"(?<![\w.])\d{5,}(?![\w.])")
_BEHIND_SIGNS: Final = re.compile(r"(?<=[,:;=|/&}\])])(?=\S)")
SCRIPT: Final = tuple(
    f"report-{part}.js"
    for part in ("data", "labels", "draw", "panels", "cursor", "space-time", "explore", "filter", "page")
)
"""The parts of the page's script, in the order in which they run; they share one scope."""


class HtmlReporter:
    """The page of a run."""

    name = PAGE
    help = "one page with the verdict, the evidence and the curves"
    file = REPORT

    def render(self, parts: Parts) -> str:
        """The page."""
        return page(report_data(parts))


def page(data: ReportData) -> str:
    """The page's text. Pure but for reading the package's own template, style and script once."""
    made, css = template(TEMPLATE)
    return made.render(
        d=data, css=css, js=script(), data=json_for_script(_script_data(data)), trace_width=WIDTH, box=BOX
    )


def _script_data(data: ReportData) -> dict[str, Any]:
    """What the page's script draws from, beside the operations themselves."""
    labels = labels_of(data.points.errors)
    points = {
        "count": data.points.count,
        "errors": data.points.errors,
        "kinds": [labels[text] for text in data.points.errors],
        "ticks": TICKS_A_SECOND,
        "floor": LATENCY_FLOOR_MS,
        "steps": LATENCY_STEPS,
    }
    terms = {"key": data.terms.key}
    return {**msgspec.structs.asdict(data.charts), "points": points, "marks": data.marks, "terms": terms}


def own_script(name: str) -> Markup:
    """One of the package's own scripts."""
    return Markup(_text(name))  # noqa: S704 - our own file


def script() -> Markup:
    """The page's script."""
    parts = "".join(map(_text, SCRIPT))
    return Markup(f"'use strict';\n(async () => {{\n{parts}}})();\n")  # noqa: S704 - our own files


def json_for_script(value: Any) -> Markup:
    """JSON for a script element: nothing in it can end the element or begin a comment."""
    text = msgspec.json.encode(value).decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 - made safe just above


def mark_code(text: str) -> Markup:
    """Text in which what stands between back-ticks is code."""
    parts = (f"<code>{escape(part)}</code>" if i % 2 else escape(part) for i, part in enumerate(text.split("`")))
    return Markup("").join(Markup(part) for part in parts)  # noqa: S704 - each part was escaped


def group_digits(text: str) -> str:
    """Text with its long numbers in groups of three."""
    return _LONG_NUMBERS.sub(lambda found: words.count(int(found[0])), text)


def allow_breaks(text: str) -> Markup:
    """Text that may go on in the next line behind its signs, as JSON has them, and not inside a word."""
    return Markup("<wbr>").join(map(escape, _BEHIND_SIGNS.split(text)))


def template(name: str) -> "tuple[Template, Markup]":
    """One of the package's own templates, and the style of all pages."""
    return _environment().get_template(name), Markup(_text("report.css"))  # noqa: S704 - our own file


@cache
def _text(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined  # a summary needs no page

    environment = Environment(
        loader=PackageLoader("reports", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["grouped"] = words.count
    environment.filters["group_digits"] = group_digits
    environment.filters["mark_code"] = mark_code
    environment.filters["allow_breaks"] = allow_breaks
    environment.filters["link_terms"] = link_terms
    return environment
