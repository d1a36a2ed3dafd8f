"""What the tests of SSH share: a real sshd in each of several network namespaces, and a place in their network."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

import pytest
from run_support import check_run

from cluster.agent import linux
from cluster.doctor import machines_for_tests
from cluster.host import Host, NodeSpec
from cluster.hosts.netns import NetnsBackend
from cluster.hosts.ssh.backend import SshBackend

MINIMQ = ("c1", "c2", "c3", "b1", "b2", "b3")
USER, USER_ID = "chaosuser", 23_456
PORT = 2222

# $1: the folder of the machine. User database and homes of its own, which lie at one path on all machines.
SET_UP = f"""\
set -e
mkdir -p "$1/root/.ssh" "$1/user/.ssh" "$1/sudoers.d" "$1/etc" /run/sshd /run/home/root /run/home/user
sed "s#^root:.*#root:x:0:0:root:/run/home/root:/bin/sh#; /^{USER}:/d" /etc/passwd > "$1/etc/passwd"
echo "{USER}:x:{USER_ID}:{USER_ID}::/run/home/user:/bin/sh" >> "$1/etc/passwd"
sed "/^{USER}:/d" /etc/shadow > "$1/etc/shadow"
echo "{USER}:$3:19000:0:99999:7:::" >> "$1/etc/shadow"
chown {USER_ID}:{USER_ID} "$1/user" "$1/user/.ssh"
for home in root user; do cp "$2" "$1/$home/.ssh/authorized_keys"; done
for home in root user; do mount --bind "$1/$home" "/run/home/$home"; done
mount --bind "$1/etc/passwd" /etc/passwd
mount --bind "$1/etc/shadow" /etc/shadow
mount --bind "$1/sudoers.d" /etc/sudoers.d
/usr/sbin/sshd -f "$1/sshd_config" -E "$1/sshd.log"
until [ -s "$1/sshd.pid" ]; do sleep 0.02; done
"""


def keygen(path: Path, password: str = "") -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", password, "-C", "", "-f", str(path)], check=True)
    return path


class Place(Protocol):
    """Where machines with sshd are, and what it takes to reach them."""

    folder: Path
    known_hosts: Path

    def nodes_file(self, *names: str) -> str:
        """A nodes file in the order of ``names``, all machines if none are named."""


def machines_text(addresses: Mapping[str, str], key: Path | str, user: str = "root") -> str:
    """A nodes file."""
    lines = [f"user: {user}", f"port: {PORT}", f"key: {key}", "nodes:"]
    return "\n".join([*lines, *[f"  - {{name: {name}, address: {at}}}" for name, at in addresses.items()]]) + "\n"


class Lab:
    """Machines with sshd, by name, and what it takes to reach them."""

    def __init__(self, folder: Path, names: tuple[str, ...], password: str, sshd: str) -> None:
        self.folder = folder
        self.password = password
        self.run_id = f"lab-{os.getpid()}-{time.monotonic_ns()}"
        self.known_hosts = folder / "known_hosts"
        self.key = keygen(folder / "id")
        self.netns = NetnsBackend()
        self.machines = self.netns.up(self.run_id, [NodeSpec(name=name, role="machine") for name in names], folder)
        self.names = names
        self.backends: list[SshBackend] = []
        self.times_up = 0
        hashed = subprocess.run(
            ["openssl", "passwd", "-6", "-stdin"], input=password, capture_output=True, text=True, check=True
        ).stdout.strip()
        with self.known_hosts.open("w") as known:
            for name in names:
                home = Path(self.machines[name].home)
                public = keygen(home / "host_key").with_suffix(".pub").read_text().strip()
                (home / "sshd_config").write_text(
                    f"ListenAddress {self.machines[name].address}:{PORT}\nHostKey {home}/host_key\n"
                    f"PidFile {home}/sshd.pid\nUsePAM no\nStrictModes no\nPermitRootLogin yes\n"
                    f"Subsystem sftp internal-sftp\nLogLevel VERBOSE\n{sshd}\n"
                )
                set_up = ("sh", "-c", SET_UP, "sh", str(home), f"{self.key}.pub", hashed)
                self.machines[name].run(*set_up, timeout_s=20).check()
                known.write(f"[{self.machines[name].address}]:{PORT} {public}\n")

    def nodes_file(self, *names: str, user: str = "root", key: str | None = None) -> str:
        """A nodes file in the order of ``names``, all machines if none are named."""
        path = self.folder / f"nodes-{time.monotonic_ns()}.yaml"
        addresses = {name: self.machines[name].address for name in names or self.names}
        path.write_text(machines_text(addresses, key or self.key, user))
        return str(path)

    def backend(self, *names: str, user: str = "root", **options) -> SshBackend:
        options = {"nodes_file": self.nodes_file(*names, user=user), "known_hosts": str(self.known_hosts), **options}
        self.backends.append(SshBackend(**options))
        return self.backends[-1]

    def up(self, *names: str, run_id: str = "run-1", **options):
        """Hosts by SSH to the named machines; the backend is the last of ``backends``."""
        backend = self.backend(*names, **options)
        self.times_up += 1
        work = self.folder / f"work-{self.times_up}"
        work.mkdir()
        return backend.up(run_id, [NodeSpec(name=name, role="node") for name in names or self.names], work)

    def sudoers(self, name: str, line: str) -> None:
        path = Path(self.machines[name].home, "sudoers.d", "chaos")
        path.write_text(line + "\n")
        path.chmod(0o440)


@contextlib.contextmanager
def in_network(namespace: int) -> Iterator[None]:
    """This thread, and what it starts, in another network: everything else stays as it is."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        linux.setns(namespace, linux.CLONE_NEWNET)
        yield
    finally:
        linux.setns(own, linux.CLONE_NEWNET)
        os.close(own)


@contextlib.contextmanager
def laboratory(folder: Path) -> Iterator[Callable[..., Lab]]:
    """Makes one lab; this thread is in its client's network from then on to the end."""
    missing = [fact for fact in machines_for_tests() if not fact.ok]
    if missing and not os.environ.get("CI"):
        pytest.skip(f"chaos doctor: {missing[0].name}: {missing[0].detail}; {missing[0].help}")
    with contextlib.ExitStack() as undo:

        def make(*names: str, password: str = "the word", sshd: str = "") -> Lab:  # noqa: S107 - a test's own account
            made = Lab(folder, names or ("b1", "b2", "b3"), password, sshd)
            undo.callback(made.netns.down)
            undo.enter_context(in_network(made.netns._namespaces["net"]))
            undo.callback(lambda: [backend.down() for backend in made.backends])
            return made

        yield make


class Up(NamedTuple):
    """A backend that is up, and its hosts."""

    backend: SshBackend
    hosts: dict[str, Host]


def started(lab: "Place", *argv: str, **env: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "chaos", "run", "--store", str(lab.folder / "store"), "--engine", "local"]
    command += ["--known-hosts", str(lab.known_hosts)] if "--nodes-file" in argv else []
    command += argv
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=lab.folder,
        env={**os.environ, "HOME": str(lab.folder), **env},
    )


def chaos(lab: "Place", *argv: str, timeout_s: float = 300, **env: str) -> tuple[int, str]:
    """Exit code and output of a run."""
    run = started(lab, *argv, **env)
    try:
        said = run.communicate(timeout=timeout_s)[0]
    finally:
        run.kill()
        run.wait()
    return run.returncode, said


def valid_run(lab: "Place", *options: str) -> None:
    """A run that must be valid: see ``run_support.check_run``."""
    code, said = chaos(lab, "--nodes-file", lab.nodes_file(), "--install", "--seed", "1", *options, timeout_s=600)
    check_run(lab.folder / "store", "ssh", code, said)
