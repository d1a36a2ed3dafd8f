"""The page as text: fragments, escapes, whole or not at all."""

import re
import shutil
import socket
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
import synthetic

from chaos.core.errors import HistoryError
from reports import reporter
from reports.page import html
from reports.page.html import group_digits, json_for_script, mark_code, page
from reports.page.model import ReportData

VOID = {"meta", "link", "br", "wbr", "hr", "img", "input"}


class Balanced(HTMLParser):
    """Collects elements and text, and fails on a tag that closes another than the last one opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag


def parsed(text: str) -> Balanced:
    parser = Balanced()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


def flat(text: str) -> str:
    return re.sub(r"[ \n]+", " ", text)


@pytest.mark.parametrize("kind", synthetic.KINDS)
def test_every_kind_of_run_gives_a_well_formed_page(folders: dict[str, Path], kind: str) -> None:
    parser = parsed((folders[kind] / "report.html").read_text())
    assert len(parser.ids) == len(set(parser.ids))
    anchors = [attrs["href"] for tag, attrs in parser.tags if tag == "a" and (attrs.get("href") or "").startswith("#")]
    assert all((anchor or "")[1:] in parser.ids for anchor in anchors)


@pytest.mark.parametrize("kind", synthetic.KINDS)
def test_the_page_refers_to_nothing_outside(folders: dict[str, Path], kind: str) -> None:
    for tag, attrs in parsed((folders[kind] / "report.html").read_text()).tags:
        assert "src" not in attrs, tag
        href = attrs.get("href") or ""
        assert tag in ("a", "link") or not href
        assert not re.match(r"[a-z]+:|//", href) or href == "data:,"


def test_golden_fragments(folders: dict[str, Path]) -> None:
    text = flat((folders["invalid"] / "report.html").read_text())
    assert (
        '<h1><span class="stamp bad">FAIL</span>rocketmq 5.5.0 · 1 namesrv, 3 controllers, 3 brokers · queue · '
        "leader-partition,major-suspend@controller,random-loss</h1>" in text
    )
    lede = re.search(r'<p class="lede">(.*?)</p>', text)
    assert lede is not None
    told = re.sub(r"<[^>]+>", "", lede[1])
    assert told.startswith("328 acknowledged messages were lost: b1, master of epoch 1, cut off by fault 1")
    assert (
        '<tr><td class="mono name">no-loss</td><td class="v bad">FAIL</td><td class="found">'
        '<a href="#anomaly-lost-write">328 acknowledged messages lost</a></td>' in text
    )
    assert '<td class="n v bad" data-l="lost">328<br><small>over 15.2 s</small></td>' in text
    assert (
        '<span class="good">✓</span> 12 of 12 links across the cut dropped all 20 probes, 18 of 18 inside passed'
        in text
    )
    assert "<h3>lost-write × 328<small>error</small></h3>" in text
    assert "3 of 328 shown" in text
    assert "Latency shows 6000 of 48\u202f000 operations" in text
    assert "Why unknown" not in text


def test_why_unknown_stands_before_everything_else(folders: dict[str, Path]) -> None:
    text = (folders["unknown"] / "report.html").read_text()
    assert text.index("Why unknown") < text.index('id="verdict"')
    assert "✗ unproven:" in text


def test_what_comes_from_the_run_is_escaped(folders: dict[str, Path]) -> None:
    valid, crashed = ((folders[kind] / "report.html").read_text() for kind in ("valid", "crashed"))
    assert "&lt;script&gt;alert(&#39;setting&#39;)&lt;/script&gt;" in valid
    assert "<script>alert" not in valid
    assert "exit code 1 &lt;b&gt;at 31 s&lt;/b&gt;" in crashed
    assert valid.count("<script") == 3


def test_data_inside_a_script_cannot_end_it() -> None:
    evil = {"name": "</script><script>alert(1)</script><!-- \u2028 & ]]>"}
    text = json_for_script(evil)
    assert not set("<>&\u2028") & set(text)
    assert msgspec.json.decode(str(text)) == evil


def test_a_node_with_an_evil_name_stays_in_its_string(reports_by_kind: dict[str, ReportData]) -> None:
    data = reports_by_kind["valid"]
    nodes = ("</script><img src=x>", *data.charts.nodes[1:])
    text = page(msgspec.structs.replace(data, charts=msgspec.structs.replace(data.charts, nodes=nodes)))
    assert text.count("</script>") == 3
    assert "<img" not in text


def test_back_ticks_become_code_and_nothing_else() -> None:
    assert mark_code("run `chaos <x>` & see") == "run <code>chaos &lt;x&gt;</code> &amp; see"


def test_the_same_folder_gives_the_same_page(folders: dict[str, Path], tmp_path: Path) -> None:
    own = shutil.copytree(folders["invalid"], tmp_path / "run")
    before = reporter.write(own)[0].read_bytes()
    assert reporter.write(own)[0].read_bytes() == before


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = synthetic.write(tmp_path / "run", "valid", points=50)
    before = reporter.write(folder)[0].read_bytes()
    real = Path.replace

    def full(self: Path, target: Path) -> Path:
        if self.name.startswith(html.REPORT):
            raise OSError(28, "No space left on device")
        return real(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", full)
        with pytest.raises(OSError, match="No space left"):
            reporter.write(folder)
    assert (folder / "report.html").read_bytes() == before
    assert list(folder.glob("*.partial")) == []


def test_without_a_run_there_is_no_page(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match=r"no run\.json"):
        reporter.write(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_rendering_opens_no_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a report opens no socket")

    monkeypatch.setattr(socket, "socket", refuse)
    assert reporter.write(synthetic.write(tmp_path / "run", "valid", points=50))[0].is_file()


def test_the_script_stays_small() -> None:
    script = html.script()
    assert len(script.splitlines()) <= 900
    assert "</script" not in script


def test_an_occurrence_shows_what_it_is_about(folders: dict[str, Path]) -> None:
    text = flat((folders["invalid"] / "report.html").read_text())
    for name, value in (
        ("node", "b1"),
        ("message", "5:233"),
        ("place", "queue 2, offsets 1204 and 1531"),
        ("fault", "1"),
        ("promise", "covers it"),
    ):
        assert f'<span>{name} <span class="mono">{value}</span>' in text


def test_logs_without_a_time_that_can_be_read_are_not_told_as_if_some_were_shown(
    reports_by_kind: dict[str, ReportData],
) -> None:
    data = reports_by_kind["invalid"]
    logs = msgspec.structs.replace(data.logs, rows=(), of=12, said=("Nobody compared the clock of b1.",))
    text = page(msgspec.structs.replace(data, logs=logs))
    assert "The nodes wrote 12 lines, none with a time of this run that can be read" in text
    for never in ("0 of 12 lines", "Nobody compared", 'id="loglist"'):
        assert never not in text


def test_long_numbers_stand_in_groups_of_three() -> None:
    assert group_digits("70376983 acknowledged messages") == "70\u202f376\u202f983 acknowledged messages"
    assert group_digits("9490 values of n10000, 0.123456 s") == "9490 values of n10000, 0.123456 s"
