"""Who gets in, and what is said of whom does not."""

import getpass
import subprocess
import threading
from pathlib import Path

import pytest
from ssh_support import PORT, USER, keygen

from chaos.core.errors import DeployError, UsageError
from cluster.host import Host
from cluster.hosts.ssh.login import Secret

pytestmark = pytest.mark.e2e


def said_of(lab, error: type[Exception], *names: str, **options) -> str:
    with pytest.raises(error) as caught:
        lab.up(*names, **options)
    text = str(caught.value)
    assert "\n" not in text
    lab.backends.pop()
    return text


def fingerprint(path: Path) -> str:
    return subprocess.run(["ssh-keygen", "-lf", path], capture_output=True, text=True, check=True).stdout.split()[1]


def test_host_keys_are_known_or_learned_aloud_or_refused(lab):
    made = lab("b1")
    known = made.known_hosts.read_text()
    stranger = "# mine\nexample.org ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4B\n[broken"
    made.known_hosts.write_text(stranger)
    right = fingerprint(Path(made.machines["b1"].home, "host_key.pub"))
    text = said_of(made, UsageError, "b1")
    assert f"its host key {right} is not in {made.known_hosts}" in text
    assert text.endswith("log in once by hand, or give --accept-new")
    assert made.known_hosts.read_text() == stranger

    assert made.up("b1", accept_new=True)["b1"].run("true", timeout_s=10).returncode == 0
    learned = [note for note in made.backends[-1].notes() if "learned the host key" in note.text]
    assert [(note.data, right in note.text) for note in learned] == [({"warning": True}, True)]
    assert made.known_hosts.read_text() == stranger + "\n" + known
    made.backends.pop().down()
    assert made.up("b1")["b1"].run("true", timeout_s=10).returncode == 0
    made.backends.pop().down()

    other = keygen(made.folder / "other").with_suffix(".pub")
    words = other.read_text().split()
    made.known_hosts.write_text(f"[{made.machines['b1'].address}]:{PORT} {words[0]} {words[1]}\n")
    for accept_new in (False, True):
        text = said_of(made, UsageError, "b1", accept_new=accept_new)
        assert f"its host key is {right}, but {made.known_hosts} has {fingerprint(other)}" in text
        assert f"ssh-keygen -R '[{made.machines['b1'].address}]:{PORT}'" in text

    revoked = f"@revoked * {known.split(' ', 1)[1]}"
    made.known_hosts.write_text(revoked)
    assert "is revoked in" in said_of(made, UsageError, "b1", accept_new=True)
    assert made.known_hosts.read_text() == revoked


def test_logins_that_are_refused_say_what_to_do(lab, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    made = lab("b1")
    stranger = keygen(made.folder / "stranger")
    help_text = "give --user, --key or an agent, or a password by --ask-password or CHAOS_SSH_PASSWORD"
    text = said_of(made, UsageError, "b1", nodes_file=made.nodes_file(key=str(stranger)))
    assert text.startswith(f"b1 at {made.machines['b1'].address}:{PORT}: login of root refused: ")
    assert text.endswith(help_text)
    text = said_of(made, UsageError, "b1", nodes_file=made.nodes_file(key="/no/such/key"))
    assert "no private key at /no/such/key" in text
    text = said_of(made, UsageError, "b1", nodes_file=made.nodes_file(key=str(made.known_hosts)))
    assert f"private key {made.known_hosts}: of no known kind" in text
    locked = keygen(made.folder / "locked", "key word")
    Path(made.machines["b1"].home, "root/.ssh/authorized_keys").write_text(locked.with_suffix(".pub").read_text())
    text = said_of(made, UsageError, "b1", nodes_file=made.nodes_file(key=str(locked)))
    assert "is encrypted; give its password by --ask-password" in text
    secret = (Secret("key word"), None)
    hosts = made.up("b1", nodes_file=made.nodes_file(key=str(locked)), passwords=secret)
    assert hosts["b1"].run("true", timeout_s=10).returncode == 0


def test_passwords_come_from_the_environment_or_the_prompt_and_wrong_ones_are_refused(lab, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    made = lab("b1", password="right word")
    lines = f"{USER}@{made.machines['b1'].address}:{PORT}\n"
    (made.folder / "plain").write_text(lines)
    options = {"nodes_file": str(made.folder / "plain"), "no_sudo": True}
    assert "there was no key, no agent and no password to try" in said_of(made, UsageError, "b1", **options)
    monkeypatch.setenv("CHAOS_SSH_PASSWORD", "wrong word")
    text = said_of(made, UsageError, "b1", **options)
    assert f"login of {USER} refused: Authentication failed" in text
    assert "wrong word" not in text
    monkeypatch.setenv("CHAOS_SSH_PASSWORD", "right word")
    hosts = made.up("b1", **options)
    assert hosts["b1"].run("id", "-un", timeout_s=10).text == USER
    child = made.backends[-1].popen_inside(["env"], {})
    assert b"right word" not in child.communicate(timeout=20)[0], "children must not inherit it"
    made.backends.pop().down()
    asked = []
    monkeypatch.setattr(getpass, "getpass", lambda prompt: asked.append(prompt) or "right word")
    assert made.up("b1", ask_password=True, **options)["b1"].run("id", "-un", timeout_s=10).text == USER
    assert asked == ["SSH password: "]


def test_nobody_there_is_a_deployment_that_broke(lab):
    made = lab("b1")
    address = made.machines["b1"].address
    (made.folder / "closed").write_text(f"root@{address}:9\n")
    text = said_of(made, DeployError, "b1", nodes_file=str(made.folder / "closed"))
    assert text == f"b1 at {address}:9: no SSH connection: [Errno 111] Connection refused"
    (made.folder / "nowhere").write_text("root@198.51.100.1\n")
    assert "no route from here to 198.51.100.1" in said_of(
        made, DeployError, "b1", nodes_file=str(made.folder / "nowhere")
    )
    (made.folder / "unknown").write_text("no-such-host.invalid\n")
    text = said_of(made, UsageError, "b1", nodes_file=str(made.folder / "unknown"))
    assert "unknown:1: b1: no-such-host.invalid has no IPv4 address here" in text


def test_a_jump_host_is_gone_through_and_must_not_be_a_node(lab):
    made = lab("b1", "b2", "gate")
    gate = f"root@{made.machines['gate'].address}:{PORT}"
    path = Path(made.nodes_file("b1", "b2"))
    text = path.read_text()
    path.write_text(f"jump: {gate}\n" + text)
    hosts = made.up("b1", "b2", nodes_file=str(path))
    came_from = hosts["b1"].control
    assert came_from is not None
    assert came_from.address == made.machines["gate"].address
    assert hosts["b1"].run("hostname", timeout_s=10).text == "b1"
    path.write_text(f"jump: root@{made.machines['b2'].address}:{PORT}\n" + text)
    said = said_of(made, UsageError, "b1", "b2", nodes_file=str(path))
    assert f"the jump host {made.machines['b2'].address} is a node" in said


def test_what_a_login_shell_prints_is_not_what_a_command_prints(lab):
    made = lab("b1")
    home = Path(made.machines["b1"].home, "root")
    (home / ".ssh" / "rc").write_text("echo welcome; echo to b1 >&2\n")
    host: Host = made.up("b1")["b1"]
    done = host.run("sh", "-c", "echo out; echo err >&2", timeout_s=10)
    assert (done.stdout, done.stderr) == (b"out\n", b"err\n")


def test_a_connection_that_broke_is_made_anew_and_what_was_in_flight_is_not_repeated(lab):
    made = lab("b1")
    host = made.up("b1")["b1"]
    errors: list[str] = []

    def count() -> None:
        with pytest.raises(DeployError) as caught:
            host.run("sh", "-c", 'echo once >> "$HOME/count"; sleep 600', timeout_s=600)
        errors.append(str(caught.value))

    waiting = threading.Thread(target=count)
    waiting.start()
    machine = made.machines["b1"]
    script = 'until [ -s "$1" ]; do sleep 0.05; done; pkill -KILL -f "^sshd: root"'
    machine.run("sh", "-c", script, "sh", host.home + "/count", timeout_s=20).check()
    waiting.join(20)
    assert errors == [f"host b1 is gone: its SSH connection to {machine.address}:{PORT} broke"]
    assert host.run("cat", "count", timeout_s=20).text == "once"
