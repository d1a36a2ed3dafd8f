"""Removal, asked of an engine whose answers are written here and travel over a real socket."""

import json
import socketserver
import threading
from http.server import BaseHTTPRequestHandler

import docker
import pytest

from chaos.core.errors import DeployError
from cluster.cleanup.leftover import Leftover
from cluster.hosts.docker import cleanup
from cluster.hosts.docker.engine import Engine

CONTAINER = Leftover(kind="container", run_id="r", what="container chaos-r-b1", name="b1")
LATE = (
    500,
    "Could not kill running container b1, cannot remove - tried to kill container, but did not receive an exit event",
)
REFUSED = (403, "authorization denied by plugin")


class Answers(BaseHTTPRequestHandler):
    """Answers removals from ``server.script``, one after the other; the last one stays."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(200, {"ServerVersion": "24", "CgroupVersion": "2", "Driver": "overlay2"})

    def do_DELETE(self):
        self.server.asked.append(self.path)
        script = self.server.script
        code, said = script.pop(0) if len(script) > 1 else script[0]
        self.answer(code, {"message": said})

    def answer(self, code, members):
        body = json.dumps(members).encode() if code != 204 else b""
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self):
        return "unix"

    def log_message(self, *_):
        """Nothing is printed."""


@pytest.fixture
def answering(tmp_path, monkeypatch):
    """An engine and the server behind it, whose ``script`` is to be set."""
    monkeypatch.setattr(cleanup, "_ASKED_AGAIN_AFTER_S", 0.01)
    path = tmp_path / "engine.sock"
    with socketserver.ThreadingUnixStreamServer(str(path), Answers) as server:
        server.daemon_threads = True
        server.asked, server.script = [], []
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        with Engine(docker.APIClient(base_url=f"unix://{path}", version="1.43"), f"unix://{path}") as engine:
            yield engine, server
        server.shutdown()


def test_a_container_that_ends_late_is_removed_when_it_has_ended(answering):
    engine, server = answering
    server.script = [LATE, LATE, (204, "")]
    cleanup.remove(engine, CONTAINER)
    assert len(server.asked) == 3


def test_one_that_is_gone_meanwhile_is_fine(answering):
    engine, server = answering
    server.script = [LATE, (404, "No such container: b1")]
    cleanup.remove(engine, CONTAINER)
    assert len(server.asked) == 2


def test_what_the_engine_refuses_is_said_at_once(answering):
    engine, server = answering
    server.script = [REFUSED]
    with pytest.raises(DeployError, match="removing container b1: authorization denied"):
        cleanup.remove(engine, CONTAINER)
    assert len(server.asked) == 1


def test_one_that_never_ends_is_said_when_the_time_is_up(answering, monkeypatch):
    engine, server = answering
    monkeypatch.setattr(cleanup, "_REMOVED_WITHIN_S", 0.1)
    server.script = [LATE]
    with pytest.raises(DeployError, match="did not receive an exit event"):
        cleanup.remove(engine, CONTAINER)
    assert len(server.asked) > 1
