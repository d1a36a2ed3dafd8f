"""The server on real sockets: what it shows, what it refuses, and what it costs."""

import http.client
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import tracemalloc
import zipfile
from pathlib import Path

import msgspec
import pytest

from chaos.core.clock import Deadline
from chaos.core.errors import UsageError
from chaos.serve.server import CONNECTIONS, WATCHERS, Server
from chaos.storage.runinfo import read_run, write_run

RUN = "/g%40b/20261110T020304Z-0001"
Answer = tuple[int, dict[str, str], bytes]


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> Answer:
    """One request; ``headers``: more of them, Host too."""
    link = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    link.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        link.putheader(name.replace("_", "-"), value)
    link.endheaders()
    answer = link.getresponse()
    found = answer.status, dict(answer.headers.items()), answer.read()
    link.close()
    return found


def raw(server: Server, text: bytes) -> bytes:
    """What comes back on a socket for these bytes."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as link:
        link.sendall(text)
        parts = []
        while data := link.recv(1 << 16):
            parts.append(data)
    return b"".join(parts)


def test_the_index_and_the_pages_of_runs_and_matrices_are_shown(server: Server) -> None:
    status, told, body = ask(server, "/")
    assert status == 200
    assert "default-src 'none'" in told["Content-Security-Policy"]
    assert b'href="g%40b/20261110T020304Z-0001/report.html"' in body
    assert b'href="g%40b/20261110T020304Z-0001.zip"' in body
    for page in (f"{RUN}/report.html", "/matrix-small/index.html", "/matrix-small/runs/g/0/report.html"):
        status, told, body = ask(server, page)
        assert (status, told["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert body.startswith(b"<!doctype html>")
    status, told, body = ask(server, f"{RUN}/results.json")
    assert (status, told["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert json.loads(body)["valid"] is True
    assert ask(server, "/latest/results.json")[2] == body, "a link inside of the store leads there"


@pytest.mark.parametrize(
    "path",
    [
        "/../secret",
        "/g%40b/../../secret",
        "/%2e%2e/secret",
        "/..%2fsecret",
        "/g%40b/out",
        "/g%40b/folder/secret",
        f"{RUN}/nodes/b1/link",
        "/../storeX/secret",
        "//etc/passwd",
        "/etc/passwd",
        f"{RUN}",
        f"{RUN}/",
        f"{RUN}/nodes",
        "/no-such",
        "/no-such.zip",
        "/no-such/live",
        "/no-such/live.events",
        "/secret%00.json",
    ],
)
def test_nothing_outside_of_the_store_and_no_folder_is_shown(server: Server, path: str) -> None:
    answer = raw(server, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 404 "), answer[:80]
    assert b"s3cr3t" not in answer


def test_a_matrix_alone_is_served_and_what_lies_beside_it_is_not(store: Path) -> None:
    made = Server(store / "matrix-small", "127.0.0.1", 0, lambda _: None)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    paths = ("/", "/matrix-small/index.html", f"{RUN}/run.json", "/latest/run.json")
    found = {path: ask(made, path)[0] for path in paths}
    made.shutdown()
    thread.join()
    made.close()
    assert found == {"/": 200, "/matrix-small/index.html": 200, f"{RUN}/run.json": 404, "/latest/run.json": 404}


def test_what_is_no_request_is_refused_in_plain_text(server: Server) -> None:
    for text in (b"<script>\r\n\r\n", b"GET <b> HTTP/1.1 x\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"):
        answer = raw(server, text)
        assert b"Content-Type: text/plain" in answer or not answer.startswith(b"HTTP/"), answer
        assert b"text/html" not in answer


def test_a_pipe_and_a_device_do_not_hold_a_thread(server: Server, store: Path) -> None:
    os.mkfifo(store / "g@b" / "pipe")
    (store / "g@b" / "null").symlink_to("/dev/zero")
    assert ask(server, "/g%40b/pipe")[0] == 404
    assert ask(server, "/g%40b/null")[0] == 404


def test_what_a_node_calls_a_page_is_none(server: Server) -> None:
    status, told, _ = ask(server, f"{RUN}/nodes/b1/report.html")
    assert (status, told["Content-Type"]) == (200, "application/octet-stream")
    assert told["X-Content-Type-Options"] == "nosniff"


def test_another_sites_requests_get_nothing(server: Server) -> None:
    for host in ("evil.example", f"evil.example:{server.server_port}", ""):
        status, told, body = ask(server, "/", Host=host)
        assert status == 403
        assert b"20261110T" not in body
    assert ask(server, "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")[0] == 403
    status, told, _ = ask(server, "/", Origin="http://evil.example")
    assert not [name for name in told if name.lower().startswith("access-control")]
    assert told["Cross-Origin-Resource-Policy"] == "same-origin"
    assert raw(server, b"GET / HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert raw(server, b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n").startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"])
def test_nothing_can_be_changed(server: Server, method: str) -> None:
    status, told, _ = ask(server, f"{RUN}/results.json", method, Content_Length="0")
    assert (status, told["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/", f"{RUN}/results.json", f"{RUN}.zip", f"{RUN}/live", f"{RUN}/live.events"])
def test_head_is_get_without_its_body(server: Server, path: str) -> None:
    head, get = ask(server, path, "HEAD"), ask(server, path)
    assert (head[0], head[2]) == (get[0], b"")
    assert {name: value for name, value in head[1].items() if name != "Date"} == {
        name: value for name, value in get[1].items() if name != "Date"
    }


def test_a_run_comes_as_one_file_without_what_its_links_lead_to(server: Server, store: Path) -> None:
    status, told, body = ask(server, f"{RUN}.zip")
    assert (status, told["Content-Type"]) == (200, "application/zip")
    folder = store / "g@b" / "20261110T020304Z-0001"
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        assert archive.testzip() is None
        found = {name: archive.read(name) for name in archive.namelist()}
    wanted = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert found == {f"{folder.name}/{path.relative_to(folder).as_posix()}": path.read_bytes() for path in wanted}


def test_a_large_run_is_not_held_in_memory(server: Server, store: Path) -> None:
    size = 96 << 20
    with (store / "g@b" / "20261110T020304Z-0001" / "nodes" / "large.log").open("wb") as file:
        file.truncate(size)
    link = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    for path in (f"{RUN}.zip", f"{RUN}/nodes/large.log"):
        tracemalloc.start()
        link.request("GET", path)
        answer = link.getresponse()
        read = 0
        while data := answer.read(1 << 16):
            read += len(data)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        link.close()
        assert peak < size / 8, path
    assert read == size


def test_a_reader_that_goes_away_costs_nothing_but_its_own_answer(server: Server, store: Path) -> None:
    with (store / "g@b" / "20261110T020304Z-0001" / "nodes" / "large.log").open("wb") as file:
        file.truncate(64 << 20)
    for _ in range(CONNECTIONS + 3):
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as link:
            link.sendall(f"GET {RUN}/nodes/large.log HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            link.recv(1000)
    answers(server)


def answers(server: Server) -> None:
    """Wait until the server answers again: a thread may need a moment to notice that its reader is gone."""
    deadline = Deadline("an answer", 30)
    while True:
        try:
            if ask(server, "/")[0] == 200:
                return
        except OSError:
            pass
        deadline.check()


def test_connections_are_bounded_and_come_free_again(server: Server) -> None:
    idle = [socket.create_connection(("127.0.0.1", server.server_port), timeout=30) for _ in range(CONNECTIONS)]
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as one_more:
        assert one_more.recv(1 << 12).startswith(b"HTTP/1.1 503 ")
    for link in idle:
        link.close()
    answers(server)


def going(store: Path) -> None:
    """Let the run be one that is not over."""
    folder = store / "g@b" / "20261110T020304Z-0001"
    for name in ("results.json", "report.html"):
        (folder / name).unlink()
    write_run(folder, msgspec.structs.replace(read_run(folder), status="running"))


def test_pages_that_watch_are_bounded(server: Server, store: Path) -> None:
    going(store)
    request = f"GET {RUN}/live.events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    watching = []
    for _ in range(WATCHERS):
        link = socket.create_connection(("127.0.0.1", server.server_port), timeout=30)
        link.sendall(request)
        assert link.recv(12) == b"HTTP/1.1 200"
        watching.append(link)
    assert ask(server, f"{RUN}/live.events")[0] == 503
    assert ask(server, "/")[0] == 200
    for link in watching:
        link.close()


def test_an_address_that_cannot_be_had_is_one_line(server: Server, store: Path) -> None:
    with pytest.raises(UsageError, match=r"Address already in use; give another --bind or --port"):
        Server(store, "127.0.0.1", server.server_port, lambda _: None)
    with pytest.raises(UsageError, match=r"give another --bind"):
        Server(store, "203.0.113.1", 0, lambda _: None)


def test_ctrl_c_ends_it_quietly_also_while_a_page_watches(store: Path) -> None:
    going(store)
    argv = [sys.executable, "-m", "chaos", "serve", str(store), "--port", "0"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        port = int(line.split("/")[2].split(":")[1])
        with socket.create_connection(("127.0.0.1", port), timeout=60) as link:
            link.sendall(f"GET {RUN}/live.events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert link.recv(12) == b"HTTP/1.1 200"
            process.send_signal(signal.SIGINT)
            try:
                said, complained = process.communicate(timeout=60)
            finally:
                process.kill()  # where it did not end, the block would wait for ever
    assert (process.returncode, said, complained) == (0, "", "")
