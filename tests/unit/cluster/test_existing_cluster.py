"""The file about a cluster that is there already."""

from pathlib import Path

import pytest
import yaml

from chaos.core.errors import UsageError
from chaos.storage.runinfo import NodeInfo
from cluster import existing_cluster

GOOD = """\
broker: {process: Broker, start: "run {name} at {address} &", stop: end, logs: [/var/log/b.log]}
namesrv: {process: Namesrv, start: run, stop: end}
"""


ROLES = ("broker", "namesrv")


def parsed(text: str, used: tuple[str, ...] = ROLES) -> dict[str, existing_cluster.Commands]:
    return existing_cluster.parse(yaml.safe_load(text), "f", ROLES, used)


def test_commands_are_filled_in_for_each_node():
    commands = parsed(GOOD)
    node = NodeInfo(name="b1", role="broker", address="198.18.0.10")
    launch = existing_cluster.launch(commands["broker"], node, "/home/x")
    assert launch.files == {"start.sh": b"run b1 at 198.18.0.10 &\n", "stop.sh": b"end\n"}
    assert (launch.argv[-2:], launch.stop[-2:]) == (("/home/x", "start.sh"), ("/home/x", "stop.sh"))
    assert (launch.found_by, launch.logs, launch.data) == ("Broker", ("/var/log/b.log",), ())
    assert commands["namesrv"].logs == ()


def test_a_role_that_the_cluster_has_no_nodes_of_may_be_left_out():
    alone = "broker: {process: Broker, start: x, stop: y}\n"
    assert [*parsed(alone, ("broker",))] == ["broker"]
    assert [*parsed(GOOD, ("broker",))] == ["broker", "namesrv"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("brokr: {}\n", "f: unknown role 'brokr'; did you mean broker?"),
        ("broker: {process: x, start: y, stop: z}\n", "f: nothing about namesrv"),
        (GOOD.replace("process: Namesrv", "proces: x"), "f: namesrv: unknown key 'proces'; did you mean process?"),
        (GOOD.replace("stop: end}", "stop: 3}"), "f: namesrv: `stop` is missing or no text"),
        (GOOD.replace("process: Namesrv", "process: '('"), "f: namesrv: process '(' is no regular expression"),
        (GOOD.replace("/var/log/b.log", "b.log"), "f: broker: logs: give a list of absolute paths"),
        ("[]\n", "f: write a role of the system (broker, namesrv)"),
        ("broker: x\nnamesrv: y\n", "f: broker: write process, start, stop, logs below it"),
    ],
)
def test_what_is_wrong_is_one_clear_line(text, says):
    with pytest.raises(UsageError) as caught:
        parsed(text)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_no_yaml(tmp_path: Path):
    with pytest.raises(UsageError, match=r"--reuse .*none: No such file"):
        existing_cluster.read(tmp_path / "none", ("broker",), ("broker",))
    (tmp_path / "odd").write_text("a: [\n")
    with pytest.raises(UsageError, match=r"--reuse .*odd: not YAML: "):
        existing_cluster.read(tmp_path / "odd", ("broker",), ("broker",))
