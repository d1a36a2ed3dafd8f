"""A server on a loopback socket, and a store with one judged run."""

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from small_matrix import PLAN, row
from stored_runs import write

from chaos.cli.live.json_lines import object_of
from chaos.cli.live.news import Board
from chaos.core.matrix_results import append_row
from chaos.serve.server import Server
from reports import reporter
from reports.matrix.pages import write_pages


@pytest.fixture(scope="session")
def written_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run and a matrix with one more; tests must not change it."""
    top = tmp_path_factory.mktemp("written") / "store"
    run = write(top / "g@b" / "20261110T020304Z-0001")
    reporter.write(run)
    matrix = top / "matrix-small"
    reporter.write(write(matrix / "runs" / "g" / "0"))
    (matrix / "matrix.json").write_bytes(msgspec.json.encode(PLAN))
    append_row(matrix, row(0))
    write_pages(matrix)
    return top


@pytest.fixture
def store(tmp_path: Path, written_store: Path) -> Path:
    """A copy of it with links in and out of the store, and a secret beside it."""
    top = shutil.copytree(written_store, tmp_path / "store", symlinks=True)
    nodes = top / "g@b" / "20261110T020304Z-0001" / "nodes" / "b1"
    (tmp_path / "secret").write_text("s3cr3t")
    (tmp_path / "storeX").mkdir()
    (tmp_path / "storeX" / "secret").write_text("s3cr3t")
    (top / "latest").symlink_to("g@b/20261110T020304Z-0001")
    (top / "g@b" / "out").symlink_to(tmp_path / "secret")
    (top / "g@b" / "folder").symlink_to(tmp_path / "storeX")
    (nodes / "report.html").write_text("<script>alert(1)</script>")
    (nodes / "link").symlink_to(tmp_path / "secret")
    return top


@pytest.fixture
def server(store: Path) -> Iterator[Server]:
    """It, answering."""
    board = Board()
    made = Server(store, "127.0.0.1", 0, lambda event: object_of("event", event, board))
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.close()
