"""What is taken out of texts, and what must stay."""

import msgspec
import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st

from chaos.storage.runinfo import NodeInfo
from reports.across.redact import Redactor, private_of

PRIVATE = private_of(
    {"/srv/my runs/store": "store", "/home/alice": "~", "/": "root"},
    ("build7.corp.example", "localhost"),
    {"AWS_SECRET_ACCESS_KEY": "hunter2hunter2", "CI_TOKEN": "short", "EDITOR": "some-editor"},
)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("/usr/bin/chaos run -d /etc/x/chaos.yaml", "…/chaos run -d …/chaos.yaml"),
        ("see /srv/my runs/store/g/1", "see store/g/1"),
        ("key: ~/.ssh/id_ed25519", "key: …/id_ed25519"),
        ("file:///home/bob/x.yaml", "file://…/x.yaml"),
        ("-cp=/opt/a/b.jar:/opt/c/d.jar", "-cp=…/b.jar:…/d.jar"),
        ("on build7.corp.example and build7, not build71", "on host and host, not build71"),
        ("from 10.1.2.3:9876 and 192.168.0.7", "from …:9876 and …"),
        ("password hunter2hunter2.", "password …."),
        ("ok 60/s, 1/2, b1/b2, /tmp, and/or, 5.5.0", "ok 60/s, 1/2, b1/b2, /tmp, and/or, 5.5.0"),
        ("http://198.18.0.5:2379/v3/kv", "http://198.18.0.5:2379/v3/kv"),
        ("127.40.50.10 and 0.0.0.0 and 300.1.1.1", "127.40.50.10 and 0.0.0.0 and 300.1.1.1"),
        ("an EDITOR some-editor, short", "an EDITOR some-editor, short"),
        ("localhost", "localhost"),
    ],
)
def test_what_is_private_goes_and_the_rest_stays(text: str, left: str) -> None:
    assert Redactor(PRIVATE).text(text) == left


def test_machines_of_a_run_are_called_by_their_nodes() -> None:
    nodes = (
        NodeInfo(name="b1", role="broker", address="db7.corp.example"),
        NodeInfo(name="b2", role="broker", address="10.0.0.12"),
        NodeInfo(name="build7", role="broker", address="198.18.0.9"),
    )
    redactor = Redactor(PRIVATE, msgspec.structs.replace(synthetic.run_info("valid"), nodes=nodes))
    said = "db7.corp.example cut from 10.0.0.12, not 10.0.0.120 or 198.18.0.9; build7 stays, it is a node"
    assert redactor.text(said) == "b1 cut from b2, not … or 198.18.0.9; build7 stays, it is a node"


def test_names_of_members_stay_and_structs_keep_their_type() -> None:
    redactor = Redactor(PRIVATE)
    assert redactor.value({"build7": ["/a/b/c", 3, None, {"x": "build7"}]}) == {
        "build7": ["…/c", 3, None, {"x": "host"}]
    }
    run = synthetic.run_info("crashed")
    assert redactor.struct(run) == msgspec.structs.replace(run, argv=("…/chaos", *run.argv[1:]))


@given(st.text(alphabet="/~ab:. -=\n\"'", max_size=40))
def test_no_path_of_two_parts_is_left_whatever_stands_around_it(text: str) -> None:
    left = Redactor(PRIVATE).text(f"{text} /home/bob/{'x'}")
    assert "/home/bob" not in left
    assert Redactor(PRIVATE).text(left) == left, "nothing more to take out"
