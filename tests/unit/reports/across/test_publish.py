"""A publication: every link leads somewhere on a plain web server, and nothing of the machine is in it."""

import functools
import http.server
import json
import re
import threading
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import msgspec
import pytest
from click.testing import CliRunner, Result
from small_matrix import PLAN, row
from stored_runs import write

from chaos.cli.main import cli
from chaos.core.matrix_results import append_row
from chaos.core.verdict import Results
from chaos.storage.runinfo import NodeInfo, read_run, write_run

SECRETS = ("/home/alice", "alice-laptop", "10.77.1.9", "s3cr3t-t0ken", "/opt/corp")


def chaos(*argv: str) -> Result:
    return CliRunner().invoke(cli, list(argv), standalone_mode=False)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three runs and a matrix with one more, all full of what is private."""
    monkeypatch.setenv("DEPLOY_TOKEN", "s3cr3t-t0ken")
    monkeypatch.setattr("socket.gethostname", lambda: "alice-laptop")
    top = tmp_path / "my store"
    for number, kind in enumerate(("valid", "invalid", "crashed"), 1):
        private(write(top / "rocketmq-queue-a@b,c" / f"2026111{number}T020304Z-000{number}", kind))
    broken = top / "g" / "20261115T020304Z-0009"
    broken.mkdir(parents=True)
    (broken / "run.json").write_text("{")
    matrix = top / "matrix-small"
    private(write(matrix / "runs" / "g" / "0"))
    (matrix / "matrix.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(PLAN, file="/opt/corp/m.yaml")))
    append_row(matrix, row(0, argv=("chaos", "run", "-d", "/home/alice/cells/x.yaml")))
    append_row(matrix, row(1, "unknown", reason="alice-laptop was slow"))
    return top


def private(folder: Path) -> None:
    """Let a run say private things wherever it can."""
    info = read_run(folder)
    address = NodeInfo(name="b1", role="broker", address="10.77.1.9")
    write_run(
        folder,
        msgspec.structs.replace(
            info,
            argv=("/home/alice/bin/chaos", "run", "-d", "/home/alice/my.yaml"),
            nodes=(*info.nodes[:4], address, *info.nodes[5:]),
            settings={"broker.path": "/opt/corp/conf"},
        ),
    )
    (folder / "config.yaml").write_text("store: /home/alice/store\nkey: ~/alice/.ssh/id\n")
    log = folder / "nodes" / "b1" / "node.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("2026-11-21T07:15:20.500Z WARN /opt/corp/x/y at alice-laptop 10.77.1.9 s3cr3t-t0ken\n")


class Links(HTMLParser):
    """Every address in a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value is not None and not value.startswith("data:"):
                self.found.add(value)
            if name == "id" and value:
                self.ids.add(value)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A plain web server under a path of its own, as of a project's pages."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    made = functools.partial(Handler, directory=str(folder.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), made) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/{folder.name}/"
        server.shutdown()
        thread.join()


def followed(start: str) -> dict[str, Links]:
    """Every page that can be reached, by address; fails at a link that leads nowhere, or out of the publication."""
    pages: dict[str, Links] = {}
    left = [start]
    while left:
        address = urldefrag(left.pop())[0]
        if address in pages:
            continue
        assert address.startswith(start), f"{address} is outside"
        with urllib.request.urlopen(address, timeout=30) as answer:  # noqa: S310 - our own server
            kind, text = answer.headers.get_content_type(), answer.read().decode()
        pages[address] = Links()
        if kind == "text/html":
            pages[address].feed(text)
            assert not [link for link in pages[address].found if link.startswith("/") or urlsplit(link).scheme]
            left += [urljoin(address, link) for link in pages[address].found]
    for address, page in pages.items():
        for link in page.found:
            place, anchor = urldefrag(urljoin(address, link))
            assert not anchor or unquote(anchor) in pages[place].ids, f"{address}: {link}"
    return pages


def test_every_link_leads_somewhere_and_every_run_is_reached(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "public"
    done = chaos("publish", str(out), "--store", str(store))
    assert done.return_value == 0, done.exception
    with served(out) as start:
        reached = {unquote(address.removeprefix(start)) for address in followed(start)} | {"index.html"}
    wanted = {path.relative_to(out).as_posix() for path in out.rglob("*.html")}
    assert wanted <= reached
    assert len([page for page in wanted if page.endswith("report.html")]) == 4
    assert "matrix-small/index.html" in reached
    assert "rocketmq-queue-a@b,c/20261112T020304Z-0002/results.json" in reached, "raw results are linked"


def test_nothing_of_the_machine_is_in_it(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "public"
    chaos("publish", str(out), "--store", str(store))
    found = {path: path.read_text() for path in out.rglob("*") if path.is_file()}
    assert len(found) > 20
    for secret in (*SECRETS, str(store), str(tmp_path), "7c1f9f8e-0000-4000"):
        assert [path for path, text in found.items() if secret in text] == [], secret
    report = next(text for path, text in found.items() if path.match("*0002/report.html"))
    assert "went on acknowledging alone" in report, "what was found is still told"
    assert "…/my.yaml" in report


def test_raw_results_can_be_read_again(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "public"
    chaos("publish", str(out), "--store", str(store))
    folder = out / "rocketmq-queue-a@b,c" / "20261112T020304Z-0002"
    assert read_run(folder).id == "20261112T020304Z-0002"
    results = msgspec.json.decode((folder / "results.json").read_bytes(), type=Results)
    assert results.valid is False
    assert results.anomalies["lost-write"].count == 328
    assert (folder / "junit.xml").read_text().startswith("<?xml")
    assert "small" in (out / "matrix-small" / "summary.md").read_text()
    assert json.loads((out / "publication.json").read_text())["runs"] == 5


def test_the_last_ones_and_their_size_are_told(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "public"
    done = chaos("publish", str(out), "--store", str(store), "--last", "1")
    assert re.match(r"1 run \(4 older left out\), 1 matrix: \d+ files, [\d.]+ [kM]B\n", done.output), done.output
    assert "the newest 1 of 5 runs" in (out / "index.html").read_text()
    assert len(list(out.rglob("report.html"))) == 1
    with served(out) as start:
        followed(start)


def test_a_zip_holds_the_same_and_an_older_publication_is_replaced(store: Path, tmp_path: Path) -> None:
    out, archive = tmp_path / "public", tmp_path / "public.zip"
    for target in (out, archive, out, archive):
        assert chaos("publish", str(target), "--store", str(store / "matrix-small")).exception is None
    names = set(zipfile.ZipFile(archive).namelist())
    assert names == {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["my store", "public", "public.zip"]


def test_a_matrix_alone_can_be_published(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "public"
    assert chaos("publish", str(out), "--store", str(store / "matrix-small")).return_value == 0
    with served(out) as start:
        reached = followed(start)
    assert any(address.endswith("matrix-small/runs/g/0/report.html") for address in reached)


def test_what_cannot_be_published_or_replaced_is_refused(store: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("dear")
    (tmp_path / "none").mkdir()
    (tmp_path / "folder.zip").mkdir()
    for argv, says in (
        ([str(tmp_path / "mine"), "--store", str(store)], "chaos did not publish it"),
        ([str(tmp_path / "out"), "--store", str(tmp_path / "none")], "no runs in it"),
        ([str(tmp_path / "no" / "out"), "--store", str(store)], "make it first"),
        ([str(store / "out"), "--store", str(store)], "name a place outside"),
        ([str(tmp_path), "--store", str(store)], "name a place outside"),
        ([str(tmp_path / "folder.zip"), "--store", str(store)], "it is a folder"),
    ):
        done = chaos("publish", *argv)
        assert says in str(done.exception), done.output
        assert "\n" not in str(done.exception)
    assert (tmp_path / "mine" / "letter").read_text() == "dear"
    assert not (tmp_path / "out").exists()
