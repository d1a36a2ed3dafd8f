"""The pure parts of machines reached by SSH."""

import os
import tarfile
from pathlib import Path

import paramiko
import pytest

from chaos.backend_choice import choose_backend
from chaos.core.errors import DeployError, UsageError
from cluster.agent import ssh_exec
from cluster.host import ControlLink
from cluster.hosts.archives import digest_of, unpack
from cluster.hosts.ssh.backend import check_ways
from cluster.hosts.ssh.heartbeat import Skew, State, differences, skew_of
from cluster.hosts.ssh.login import Secret, add_known, known_as, revoked_keys, secrets
from cluster.hosts.ssh.nodes_file import Defaults, Login, parse
from cluster.hosts.ssh.streams import Bounded, Greeting, Stream, greeting


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("said", [b"", b"out", b"tok\ntoken\ntoken", b"a\n" * 300, b"token "])
def test_a_stream_is_what_lies_between_the_lines_of_the_tool_however_it_is_cut(size, said):
    out = bytearray()
    stream = Stream("token", out.extend)
    whole = b"Welcome!\ntoken\n" + said + b"token:-9\n"
    for start in range(0, len(whole), size):
        assert stream.returncode is None
        stream.feed(whole[start : start + size])
    assert (bytes(out), stream.returncode) == (said, -9)


def test_a_stream_without_the_tool_keeps_what_was_said_instead():
    out = bytearray()
    stream = Stream("token", out.extend)
    stream.feed(b"python3: not found\n")
    assert (stream.returncode, bytes(out), stream.chatter) == (None, b"", b"python3: not found\n")


def test_output_beyond_all_bounds_is_refused():
    bounded = Bounded()
    bounded(b"x" * (64 << 20))
    with pytest.raises(DeployError, match="more than 64 MiB"):
        bounded(b"x")


def test_a_greeting_is_read_after_the_word_whatever_a_login_prints():
    said = "Last login: never\nword\n/home/me\n1000\n192.0.2.1 50000 192.0.2.9 2222\nasks\n3.11\n"
    assert greeting(said, "word") == Greeting(
        folder="/home/me", uid=1000, control=ControlLink("192.0.2.1", 2222), sudo="asks", python="3.11"
    )
    by_ipv6 = greeting("word\n/root\n0\nfe80::1 5 fe80::2 22\nfree\nnone\n", "word")
    assert by_ipv6 is not None
    assert by_ipv6.control is None
    assert greeting("This account is not available.\n", "word") is None
    assert greeting("word\n/root\n", "word") is None


def test_the_environment_of_commands_is_where_programs_are_and_no_more():
    given = ssh_exec.environment({"PATH": "/opt/bin:/usr/bin", "SUDO_COMMAND": "x", "JAVA_HOME": "/j"}, "t", "/h", "r")
    assert given.keys() == {"PATH", "LANG", "HOME", "TMPDIR", "CHAOS_COMMAND", "CHAOS_RUN", "JAVA_HOME"}
    assert given["PATH"].startswith("/opt/bin:/usr/bin:/usr/local/sbin")
    assert given["PATH"].split(":").count("/usr/bin") == 1


def test_skew_is_taken_from_the_shortest_round_trip():
    assert skew_of([(0, 900, 1000), (2000, 2560, 2100), (3000, 3600, 3400)]) == Skew(510, 50)
    assert str(Skew(1_500_000, 200_000)) == "+1.50 ms (± 0.20 ms)"


def test_what_differs_after_a_run_is_named():
    before = State(("-P INPUT ACCEPT", "-A INPUT -s 192.0.2.1 -j DROP"), frozenset({"stopped 1 2 vi"}), Skew(0, 1000))
    assert differences(before, before) == []
    after = State(("-P INPUT ACCEPT", "-N CHAOS-x"), frozenset({"marked 3 4 java"}), Skew(3_600_000_000_000, 1000))
    assert differences(before, after) == [
        "rule added: -N CHAOS-x",
        "rule gone: -A INPUT -s 192.0.2.1 -j DROP",
        "process left: marked 3 4 java",
        "clock moved by +3600.0 s",
    ]


def test_secrets_come_out_of_the_environment_and_show_nowhere(monkeypatch):
    monkeypatch.setenv("CHAOS_SSH_PASSWORD", "one")
    monkeypatch.delenv("CHAOS_SUDO_PASSWORD", raising=False)
    login, sudo = secrets(ask=False)
    assert login is sudo
    assert login is not None
    assert login.reveal() == "one"
    assert "one" not in f"{login} {login!r}"
    assert "CHAOS_SSH_PASSWORD" not in os.environ
    assert secrets(ask=False) == (None, None)
    monkeypatch.setenv("CHAOS_SUDO_PASSWORD", "two")
    login, sudo = secrets(ask=False)
    assert (login, sudo and sudo.reveal()) == (None, "two")
    assert isinstance(sudo, Secret)


def test_known_hosts_with_whatever_people_have_in_it():
    key = paramiko.RSAKey.generate(1024)
    line = f"{key.get_name()} {key.get_base64()}"
    text = f"# mine\n\n@cert-authority * {line}\nbroken\nodd ssh-ed25519 !!!\nn1,n2 {line} me@here\n[n3]:2222 {line}\n"
    keys = paramiko.HostKeys()
    add_known(keys, text)
    assert sorted(keys.keys()) == ["[n3]:2222", "n1", "n2"]
    assert revoked_keys(text.splitlines()) == set()
    withdrawn = paramiko.HostKeys()
    add_known(withdrawn, f"{text}@revoked * {line}\n")
    assert list(withdrawn.keys()) == []
    assert known_as(Login(address="n1")) == "n1"
    assert known_as(Login(address="n1", port=2222)) == "[n1]:2222"


def test_a_folder_is_known_by_names_programs_and_content(tmp_path: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("1")
    first = digest_of(tmp_path)
    assert digest_of(tmp_path) == first
    (tmp_path / "a" / "file").chmod(0o755)
    second = digest_of(tmp_path)
    (tmp_path / "a" / "file").write_text("2")
    third = digest_of(tmp_path)
    (tmp_path / "a" / "file").rename(tmp_path / "a" / "other")
    assert len({first, second, third, digest_of(tmp_path)}) == 4


def test_an_archive_from_elsewhere_does_not_lead_out_of_its_folder(tmp_path: Path):
    (tmp_path / "evil").write_text("evil")
    with tarfile.open(tmp_path / "packed.tar", "w") as tar:
        for name in ("logs/good", "../outside", "/tmp/absolute-of-chaos-test"):  # noqa: S108
            member = tar.gettarinfo(tmp_path / "evil")
            member.name = name
            with (tmp_path / "evil").open("rb") as file:
                tar.addfile(member, file)
        link = tarfile.TarInfo("logs/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    unpack(tmp_path / "packed.tar", tmp_path / "into" / "deep")
    made = [str(path.relative_to(tmp_path / "into")) for path in (tmp_path / "into").rglob("*") if path.is_file()]
    assert made == ["deep/logs/good"]
    assert not Path("/tmp/absolute-of-chaos-test").exists()  # noqa: S108


def test_nodes_need_addresses_of_their_own_and_a_jump_host_that_is_none_of_them():
    machines = dict(zip(("a", "b"), parse("n1\nn2\n", "f", Defaults()), strict=True))
    assert check_ways(machines, {"a": "127.0.0.1", "b": "127.0.0.2"}) == "127.0.0.1"
    with pytest.raises(UsageError, match=r"f:1: a and b are both 127\.0\.0\.1; each needs a machine"):
        check_ways(machines, {"a": "127.0.0.1", "b": "127.0.0.1"})
    jumping = dict(zip(("a", "b"), parse("jump: n2\nnodes: [n1, n2]\n", "f", Defaults()), strict=True))
    with pytest.raises(UsageError, match="f:2: the jump host n2 is a node"):
        check_ways(jumping, {"a": "127.0.0.1", "b": "127.0.0.2"})


def test_options_go_to_the_backend_that_has_them(tmp_path: Path):
    (tmp_path / "nodes").write_text("n1\n")
    options = {"nodes_file": str(tmp_path / "nodes"), "port": 2222}
    backend, why = choose_backend("auto", options)
    assert (backend.name, why) == ("ssh", " (auto: --nodes-file names its hosts)")
    assert len(backend._machines) == 1
    with pytest.raises(UsageError, match="--backend netns has no --nodes-file; it belongs to --backend ssh"):
        choose_backend("netns", options)
