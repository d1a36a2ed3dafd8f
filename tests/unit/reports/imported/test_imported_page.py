"""The page of a history of another tool, as the command writes it and as a browser shows it."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from pages import NARROW, WIDE, broken_words, hindrances

from chaos.cli.main import cli
from chaos.core.op import Type
from chaos.core.verdict import Anomaly, CheckResult, Edge, Example, Results
from chaos.formats.operations import Operation
from reports.imported.html import render
from reports.imported.objects import Objects, objects_of

EDN = """\
{:index 0 :process 0 :type :invoke :f :write :value 1}
{:index 1 :process 1 :type :invoke :f :write :value 2}
{:index 2 :process 0 :type :ok :f :write :value 1}
{:index 3 :process 1 :type :ok :f :write :value 2}
{:index 4 :process 2 :type :invoke :f :read :value nil}
{:index 5 :process 2 :type :ok :f :read :value 2}
{:index 6 :process 3 :type :invoke :f :read :value nil}
{:index 7 :process 3 :type :ok :f :read :value 1}
{:index 8 :process 2 :type :invoke :f :read :value nil}
{:index 9 :process 2 :type :ok :f :read :value 2}
"""
HOSTILE = "<img src=x onerror=alert(1)>\u2028</script>&amp;"


@pytest.fixture
def history(tmp_path: Path) -> Path:
    path = tmp_path / "reg.edn"
    path.write_text(EDN)
    return path


def check(*argv: str):
    return CliRunner().invoke(cli, ["check", *argv, "--format", "jepsen", "--engine", "local"], standalone_mode=False)


def test_a_page_is_written_beside_the_verdict(history, tmp_path, open_page):
    target = tmp_path / "out.html"
    done = check(str(history), "--model", "register", "--report", str(target))
    assert done.return_value == 1
    assert [path.name for path in tmp_path.glob("*out*")] == ["out.html"], "whole, and nothing beside it"
    page = open_page(target)
    assert page.locator(".stamp").text_content() == "FAIL"
    assert page.locator(".lede a").get_attribute("href") == "#anomaly-nonlinearizable"
    anomalies = page.locator("section[aria-labelledby=anomalies]")
    assert anomalies.locator("svg.lanes rect.guilty").count() == 1
    assert anomalies.locator("svg.lanes text.place").all_text_contents().count("✗") == 1
    assert "Should be:" in page.locator(".anom").text_content()


def test_a_valid_history_says_what_was_looked_at(tmp_path, open_page):
    path = tmp_path / "good.edn"
    path.write_text("".join(EDN.splitlines(keepends=True)[:6]))
    target = tmp_path / "good.html"
    assert check(str(path), "--model", "register", "--report", str(target)).return_value == 0
    page = open_page(target)
    assert page.locator(".stamp").text_content() == "PASS"
    assert "Nothing in 3 operations contradicts the model register." in page.locator(".lede").text_content()
    assert page.locator(".anom").count() == 0
    drawn = page.locator("#object-1 svg.lanes text.label").all_text_contents()
    assert drawn == ["write 1", "write 2", "read → 2"], "a page without an anomaly shows what there was"


def test_a_link_leads_to_the_first_error_of_an_object(tmp_path, open_page):
    path = tmp_path / "long.edn"
    rows = [
        f"{{:process {at % 4} :type {kind} :f :write :value {at}}}\n" for at in range(50) for kind in (":invoke", ":ok")
    ]
    rows += ["{:process 1 :type :invoke :f :read :value nil}\n", "{:process 1 :type :ok :f :read :value 3}\n"]
    path.write_text("".join(rows))
    target = tmp_path / "long.html"
    assert check(str(path), "--model", "register", "--report", str(target)).return_value == 1
    page = open_page(target)
    first = page.locator("[id='object-1-first']")
    assert first.locator("rect.guilty").count() == 1
    page.click("#object-1 a")
    box, room = first.bounding_box(), page.locator("#object-1 .scroll").bounding_box()
    assert room["x"] <= box["x"] < room["x"] + room["width"]


def test_what_a_picture_cuts_is_whole_in_the_list_below(tmp_path, open_page):
    text = "a value that is rather long, and longer"
    operations = [Operation(f="write", argument=text, type=Type.OK, invoke=0, complete=1, number=0, process=0, key=1)]
    path = tmp_path / "cut.html"
    path.write_text(render("k.edn", circle(), "chaos check k.edn", objects_of(operations, circle())))
    page = open_page(path)
    assert page.locator("#object-1 svg.lanes text.label").text_content().endswith("…")
    page.locator("#object-1 summary", has_text="in words").focus()
    page.keyboard.press("Enter")
    assert page.locator("#object-1 ol.said li").inner_text() == f"write {text} (ok, process 0, number 0)"


def test_a_file_that_is_too_long_to_draw_says_so(history, tmp_path, monkeypatch):
    monkeypatch.setattr("chaos.cli.history_page.DRAWN_BYTES", 10)
    target = tmp_path / "out.html"
    check(str(history), "--model", "register", "--report", str(target))
    assert "objects are drawn up to 10 B" in target.read_text()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["a.edn", "b.edn", "--report", "x.html"], "--report: writes the page of one file of another tool"),
        (["a", "--format", "chaos", "--report", "x.html"], "--report: writes the page of one file of another tool"),
    ],
)
def test_only_one_file_has_a_page(argv, said):
    done = CliRunner().invoke(cli, ["check", "--format", "jepsen", *argv], standalone_mode=False)
    assert said in str(done.exception)


def test_a_page_that_cannot_be_written_leaves_the_verdict(history, tmp_path):
    done = check(str(history), "--model", "register", "--report", str(tmp_path / "no" / "x.html"))
    assert done.return_value == 1
    assert re.search(r"x\.html: no page: No such file or directory", done.stderr)


def circle(text: str = "record 1 sent 5") -> Results:
    """A verdict with a circle, and with texts of somebody else's."""
    edges = tuple(
        Edge(before=a, after=b, kind=kind, reason=text)
        for a, b, kind in ((1, 3, "ww"), (3, 5, "rw"), (5, 1, "realtime"))
    )
    rows = tuple({"index": at, "process": at, "type": "ok", "f": text, "value": [[text, 1]]} for at in (1, 3))
    example = Example(sentence=f"{text}: a circle.", ops=rows, circle=edges)
    found = {"G1c": Anomaly(count=40, allowed=False, examples=(example,) * 3)}
    row = CheckResult(name="kafka", valid=False, found="1 G1c", examined=text, anomalies=found)
    sentence = f"{text}: a circle."
    told = {"valid": False, "sentence": sentence, "reason": "", "counts": {}}
    return Results(**told, model=text, engine="local", checks=(row,), anomalies=found)


def test_a_circle_is_drawn_with_the_reason_of_each_edge(tmp_path, open_page):
    path = tmp_path / "circle.html"
    path.write_text(render("k.edn", circle(), "chaos check k.edn", Objects()))
    page = open_page(path)
    ring = page.locator("svg.ring").first
    assert ring.locator(".kind").all_text_contents() == ["1 ww", "2 rw", "3 realtime"]
    assert page.locator("ol.edges").first.locator("li").count() == 3
    assert "showing 3 of 40" in page.locator(".anom").text_content()


def hostile_objects() -> Objects:
    """An object and an operation whose names are somebody else's texts."""
    row = {"type": Type.OK, "invoke": 0, "complete": 1, "number": 0, "process": HOSTILE, "key": HOSTILE}
    return objects_of([Operation(f=HOSTILE, argument=HOSTILE, **row)], circle(HOSTILE))


def test_values_of_a_history_are_text(tmp_path, open_page):
    path = tmp_path / "hostile.html"
    path.write_text(render(HOSTILE, circle(HOSTILE), HOSTILE, hostile_objects()))
    page = open_page(path)
    assert page.locator("img, script").count() == 0
    assert HOSTILE.partition("\u2028")[0] in page.locator(".lede").text_content()


@pytest.mark.parametrize("size", [NARROW, {"width": 768, "height": 1000}, WIDE], ids=lambda size: str(size["width"]))
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_broken_or_clipped(history, tmp_path, open_page, size, scheme):
    register, ring = tmp_path / "register.html", tmp_path / "ring.html"
    check(str(history), "--model", "register", "--report", str(register))
    ring.write_text(render("k.edn", circle(), "chaos check k.edn", Objects()))
    for path in (register, ring):
        page = open_page(path, size=size, scheme=scheme)
        assert broken_words(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        covered = page.evaluate(
            """() => {
              const out = [];
              for (const svg of document.querySelectorAll('svg')) {
                const texts = [...svg.querySelectorAll('text')].filter(one => one.checkVisibility());
                const boxes = texts.map(one => one.getBoundingClientRect());
                boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b, j) => {
                  if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)
                    out.push([texts[i].textContent, texts[i + 1 + j].textContent]);
                }));
              }
              return out;
            }"""
        )
        assert covered == [], "labels cover each other"


def test_every_reader_reaches_all_of_it(history, tmp_path, open_page):
    register, ring = tmp_path / "register.html", tmp_path / "ring.html"
    check(str(history), "--model", "register", "--report", str(register))
    ring.write_text(render("k.edn", circle("a rather long text " * 8), "chaos check k.edn", hostile_objects()))
    for path in (register, ring):
        assert hindrances(open_page(path)) == []
