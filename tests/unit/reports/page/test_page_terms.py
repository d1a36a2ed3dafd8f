"""Words of the page that are explained where they stand."""

import re
from pathlib import Path

from page_browser import Open
from pages import WIDE
from repository import ROOT

from reports.page.terms_explained import TERMS, link_terms, terms_in


def test_a_term_is_a_link_where_it_stands_first() -> None:
    text = link_terms("b1, master of epoch 1, and b2, master of epoch 2")
    assert re.findall(r'href="#([^"]+)"', text) == ["word-master", "word-epoch"]
    assert text.count("</a>") == 2
    assert re.sub(r"<[^>]+>", "", text) == "b1, master of epoch 1, and b2, master of epoch 2"


def test_what_is_no_term_is_escaped_and_left() -> None:
    assert link_terms("a <b> & midterm exams") == "a &lt;b&gt; &amp; midterm exams"


def test_the_terms_of_texts_are_named_once_in_their_order() -> None:
    found = terms_in(["a strong read (b1, pinned client)", "SyncStateSet 5 and int-poll-skip", "strong reads"])
    assert [term.name for term in found] == ["SyncStateSet", "pinned client", "strong read", "int-"]
    assert terms_in(["nothing of it"]) == ()


def test_each_term_is_in_the_glossary() -> None:
    glossary = (ROOT / "docs/reference/glossary.md").read_text().lower()
    missing = [term.name for term in TERMS if f"**{term.name.lower()}**" not in glossary and term.name != "term"]
    assert missing == [], "term is told with epoch"
    assert "raft calls it *term*" in glossary


def test_a_term_opens_its_explanation_by_keyboard(open_page: Open, folders: dict[str, Path]) -> None:
    page = open_page(folders["invalid"] / "report.html")
    page.set_viewport_size(WIDE)
    term = page.locator(".lede a.term").first
    target = term.get_attribute("href")
    assert not page.locator(target).is_visible()
    term.focus()
    page.keyboard.press("Enter")
    page.locator(target).wait_for(state="visible")
