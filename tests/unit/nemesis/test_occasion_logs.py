"""Lines that nodes write from a moment on: all of them are seen, however many there are and however they come."""

from pathlib import Path

import pytest

from chaos.storage.runinfo import NodeInfo
from cluster.cluster import Node
from cluster.hosts.local import LocalHost
from cluster.system import Launch
from nemesis.occasions import node_logs
from nemesis.occasions.node_logs import NodeLogs


@pytest.fixture
def node(tmp_path):
    launch = Launch(argv=("true",), env={}, files={}, ready_pattern="", logs=("out.log",), data=())
    return Node(NodeInfo(name="n1", role="member", address="127.0.0.1"), LocalHost("127.0.0.1", tmp_path), launch)


def write(node, text):
    with Path(node.host.home, "out.log").open("a") as file:
        file.write(text)


def test_only_lines_count_that_are_written_after_it_began(node):
    write(node, "n1 leads\n")
    logs = NodeLogs([node], "leads")
    assert logs.found() is None
    write(node, "n1 follows\nn1 le")
    assert logs.found() is None
    write(node, "ads again\n")
    assert logs.found() == ("n1", "n1 leads again")


def test_a_log_that_did_not_exist_yet_is_read_from_its_beginning(node):
    logs = NodeLogs([node], "leads")
    assert logs.found() is None
    write(node, "n1 leads\n")
    assert logs.found() == ("n1", "n1 leads")


def test_a_line_behind_all_that_is_read_at_a_time_is_found_the_next_time(node, monkeypatch):
    monkeypatch.setattr(node_logs, "MOST_BYTES", 64)
    logs = NodeLogs([node], "leads")
    write(node, "n1 is busy ö\n" * 20 + "x" * 300 + "\nn1 leads\n")
    seen = [logs.found() for _ in range(20)]
    assert ("n1", "n1 leads") in seen
    assert seen[0] is None
