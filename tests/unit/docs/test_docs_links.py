"""Every relative link in README.md and docs/ leads to a file and a heading, and docs/README.md names every page."""

import re
from pathlib import Path

import pytest
from repository import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?!\w+:)([^)\s]*)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def _links(page: Path) -> list[str]:
    return LINK.findall(FENCE.sub("", page.read_text()))


def _anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = HEADING.findall(FENCE.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def _is_there(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return target.exists() and target.is_relative_to(ROOT) and (not anchor or anchor in _anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    assert [link for link in _links(page) if not _is_there(page, link)] == []


def test_the_index_names_every_page_once() -> None:
    index = ROOT / "docs" / "README.md"
    named = sorted((index.parent / link).resolve() for link in _links(index) if link.endswith(".md"))
    assert named == sorted(page for page in PAGES if page not in (index, ROOT / "README.md"))


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 80


def test_a_broken_link_and_a_missing_heading_are_noticed() -> None:
    page = ROOT / "docs" / "README.md"
    assert not _is_there(page, "no-such-page.md")
    assert not _is_there(page, "semantics.md#no-such-heading")
    assert _is_there(page, "semantics.md#the-end-of-a-run")
