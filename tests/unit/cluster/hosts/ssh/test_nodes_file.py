"""The file that names machines: what may be written, and what is said of what may not."""

from pathlib import Path

import pytest

from chaos.core.errors import UsageError
from cluster.host import NodeSpec
from cluster.hosts.ssh.nodes_file import Defaults, Login, assign, parse, read

NOBODY = Defaults()
FULL = """\
# the lab
user: root
key: ~/.ssh/lab
jump: me@bastion:2200
nodes:
  - 192.0.2.11
  - name: b1
    address: n2.example
    user: admin
    port: 2222
    key: ~/.ssh/other
    jump: bastion2
    roles: [broker, controller]
  - {address: "other@192.0.2.13:22", roles: namesrv}
"""


def test_yaml_with_everything():
    first, second, third = parse(FULL, "f.yaml", NOBODY)
    assert first.login == Login(address="192.0.2.11", port=22, user="root", key="~/.ssh/lab")
    assert first.jump == Login(address="bastion", port=2200, user="me", key="~/.ssh/lab")
    assert (first.name, first.roles, first.where) == (None, (), "f.yaml:6")
    assert second.login == Login(address="n2.example", port=2222, user="admin", key="~/.ssh/other")
    assert second.jump is not None
    assert second.jump.address == "bastion2"
    assert (second.name, second.roles, second.where) == ("b1", ("broker", "controller"), "f.yaml:7")
    assert (third.login.user, third.roles) == ("other", ("namesrv",))


@pytest.mark.parametrize(
    "text",
    ["n1\nn2:2222\nroot@n3", "# hosts\nn1\n\nn2:2222  # second\nroot@n3\n", "- n1\n- n2:2222\n- root@n3\n"],
)
def test_one_host_a_line_as_others_write_it(text):
    logins = [machine.login for machine in parse(text, "f", Defaults(user="me", port=2022))]
    assert logins == [
        Login(address="n1", port=2022, user="me"),
        Login(address="n2", port=2222, user="me"),
        Login(address="n3", port=2022, user="root"),
    ]


def test_a_single_host_is_a_file_too():
    assert [machine.login.address for machine in parse("n1\n", "f", NOBODY)] == ["n1"]


def test_options_win_over_what_the_file_says_for_all():
    machines = parse(FULL, "f.yaml", Defaults(user="me", key="mine"))
    assert [machine.login.user for machine in machines] == ["me", "admin", "other"]
    assert [machine.login.key for machine in machines] == ["mine", "~/.ssh/other", "mine"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nodes:\n  - {adress: n1}\n", "f:2: unknown key 'adress'; did you mean address?"),
        ("hosts: [n1]\n", "f:1: unknown key 'hosts'; known: user, port, key, jump, nodes"),
        ("user: me\nnodes:\n  - address: n1\n    password: x\n", "f:4: password: secrets do not belong in files"),
        ("nodes:\n  - {name: b1}\n", "f:2: a node without `address`"),
        ("nodes:\n  - {address: n1, port: 70000}\n", "f:2: port '70000'"),
        ("n1:99999\n", "f:1: port '99999'"),
        ("n1\nn 2\n", "f:2: 'n 2' is no host; write [user@]host[:port]"),
        ("nodes:\n  - [n1]\n", "f:2: a node: give one word"),
        ("user: me\n", "f:1: no list of nodes"),
        ("nodes:\n", "f:1: no list of nodes"),
        ("", "f: it names no hosts"),
        ("# nothing\n", "f: it names no hosts"),
        ("n1\nn2\nn1\n", "f:3: n1 is named in f:1 already"),
        ("- {name: b1, address: n1}\n- {name: b1, address: n2}\n", "f:2: b1 is named in f:1 already"),
        ("nodes: [\n", "f:2: neither YAML nor one host a line"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(text, says):
    with pytest.raises(UsageError) as caught:
        parse(text, "f", NOBODY)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 254


def test_a_file_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(UsageError, match="No such file"):
        read(tmp_path / "none", NOBODY)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not a text file"):
        read(tmp_path / "binary", NOBODY)


SPECS = [NodeSpec(name=name, role=role) for name, role in (("c1", "controller"), ("b1", "broker"), ("b2", "broker"))]


def addresses_of(text: str) -> dict[str, str]:
    return {name: machine.login.address for name, machine in assign(SPECS, parse(text, "f", NOBODY)).items()}


def test_machines_go_to_nodes_by_name_then_role_then_order():
    assert addresses_of("n1\nn2\nn3\nn4\n") == {"c1": "n1", "b1": "n2", "b2": "n3"}
    named = "- n1\n- {address: n2, name: b1}\n- {address: n3, roles: [controller]}\n"
    assert addresses_of(named) == {"c1": "n3", "b1": "n2", "b2": "n1"}


def test_too_few_machines_and_wrong_roles_are_said():
    with pytest.raises(UsageError, match=r"no host is left for b2 \(broker\): 3 nodes need a host each, 2 are in f"):
        addresses_of("n1\nn2\n")
    with pytest.raises(UsageError, match="f:1: c1 is a controller, which is not among its roles"):
        addresses_of("- {name: c1, address: n1, roles: broker}\n- n2\n- n3\n")
