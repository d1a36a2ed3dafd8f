"""Machines reached by SSH: the hosts of a run are the ones that a file names, and stay when the run is over.

Use::

    backend = SshBackend(nodes_file="nodes.yaml", install=True)
    with hosts_up(backend, "run-1", [NodeSpec(name="b1", role="broker")], Path("work")) as hosts:
        print(hosts["b1"].run("hostname", timeout_s=5).check().text)

Load and observers run on the machine of the harness, which must reach the nodes' addresses. What a run makes on a
machine lies below ``~/.chaos`` and is removed at the end; artefacts stay, by checksum, for the next run. A watchdog on
each machine heals it when the harness falls silent. Does not make machines or install programs of the distribution, and
does not put two nodes on one machine, whose links could not be cut.
"""

import os
import subprocess
import tarfile
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar

from chaos.basics.name_lists import join_names
from chaos.core.clock import now_ns
from chaos.core.errors import ChaosError, DeployError, UsageError
from chaos.core.events import CLOCK_SKEW, Note
from cluster.cleanup import run_records
from cluster.host import Capability, Host, NodeSpec
from cluster.hosts.addressing import CLIENT, names_of
from cluster.hosts.archives import digest_of, unpack
from cluster.hosts.local import LocalHost, address_towards
from cluster.hosts.ssh.connection import Connection
from cluster.hosts.ssh.heartbeat import HEAL_AFTER_S, State, Watch, differences, state_of
from cluster.hosts.ssh.host import FOLDER, SshHost
from cluster.hosts.ssh.login import Authenticator, Secret, address_of, secrets
from cluster.hosts.ssh.nodes_file import Defaults, Machine, assign, read
from cluster.hosts.ssh.streams import Greeting
from cluster.network import packet_filter

_TIMEOUT_S: Final = 60.0
_INSTALL: Final = """\
set -e
mkdir -p "$1"
partial="$1/.$2.$$"
trap 'rm -rf "$partial"' EXIT
mkdir "$partial"
tar -xf - -C "$partial"
[ -d "$1/$2" ] || mv -T "$partial" "$1/$2"
"""
# $1: the folder of runs. Dead is what has no watchdog, unless it is so new that it may be about to get one.
_CLEAN: Final = """\
cd "$1" 2> /dev/null || exit 0
for home in */*; do
  [ -d "$home" ] || continue
  if { read -r pid < "$home/watchdog.pid"; } 2> /dev/null; then
    tr '\\0' ' ' 2> /dev/null < "/proc/$pid/cmdline" | grep -qF -e "/$home\\"" && continue
  elif [ -n "$(find "$home" -maxdepth 0 -mmin -10)" ]; then
    continue
  fi
  rm -rf -- "$home" && printf '%s\\n' "${home%/*}"
  rmdir --ignore-fail-on-non-empty -- "${home%/*}"
done
"""
_LOGS: Final = 'cd "$1" && tar -cf - logs'


Result = TypeVar("Result")


def at_once(action: Callable[[str], Result], names: Iterable[str]) -> dict[str, Result]:
    """Do something for each name at the same time; the first failure is raised after all have ended.

    What the user can mend comes before what broke.
    """
    wanted = list(names)
    with ThreadPoolExecutor(max(1, len(wanted)), thread_name_prefix="ssh") as pool:
        doing = {name: pool.submit(action, name) for name in wanted}
    failures = [error for future in doing.values() if (error := future.exception()) is not None]
    if failures:
        raise next((error for error in failures if isinstance(error, UsageError)), failures[0])
    return {name: future.result() for name, future in doing.items()}


def check_ways(machines: Mapping[str, Machine], reached: Mapping[str, str]) -> str:
    """The address of this machine as all nodes have it.

    Raises:
        UsageError: nodes that share an address or stand behind each other, or several ways from here to them.
    """
    for name, machine in machines.items():
        same = [other for other, address in reached.items() if address == reached[name] and other != name]
        if same:
            raise UsageError(f"{machine.where}: {name} and {same[0]} are both {reached[name]}; each needs a machine")
        if machine.jump is not None and machine.jump.address in {*reached.values(), *_written(machines)}:
            raise UsageError(
                f"{machine.where}: the jump host {machine.jump.address} is a node, so faults would cut {name} off from "
                "here; use a machine that is none"
            )
    ours = {address_towards(address): name for name, address in reached.items()}
    if len(ours) > 1:
        ways = ", ".join(f"{address} towards {name}" for address, name in ours.items())
        raise UsageError(f"this machine has several addresses on the way to the nodes ({ways}); it may have one only")
    return next(iter(ours), "127.0.0.1")


def _written(machines: Mapping[str, Machine]) -> set[str]:
    return {machine.login.address for machine in machines.values()}


class Reached(NamedTuple):
    """A machine that we are logged in on."""

    address: str
    connection: Connection
    greeting: Greeting

    def host(self, name: str, run_id: str, home: str | None = None) -> SshHost:
        """It as a host of a run, with a home of its own there unless another is given."""
        base = f"{self.greeting.folder}/{FOLDER}"
        return SshHost(name, self.address, run_id, self.connection, home or f"{base}/runs/{run_id}/{name}")


class SshBackend:
    """Machines that a file names, reached by SSH.

    Args:
        nodes_file: names the machines; see ``cluster/hosts/ssh/nodes_file.py``.
        user, port, key: hold for machines that the file says nothing else of.
        known_hosts: the file with the machines' keys.
        accept_new: learn keys of machines that it does not name.
        ask_password: ask at the terminal for a password.
        install: put artefacts on machines that do not have them.
        no_sudo: act as the user alone, also where sudo would make it root.
        watchdog_s: seconds of silence after which a machine heals itself.
    """

    name = "ssh"
    help = "each host a machine that you name in a file, reached by SSH"
    options: Mapping[str, str] = MappingProxyType(
        {
            "nodes_file": "names the machines: YAML, or one host a line",
            "user": "who logs in",
            "port": "port of sshd",
            "key": "private key to log in with",
            "known_hosts": "the machines' keys",
            "accept_new": "learn keys of new machines",
            "ask_password": "ask for a password",
            "install": "put the system on machines that do not have it",
            "no_sudo": "do not use sudo",
            "watchdog_s": "seconds of silence until a machine heals itself",
        }
    )
    lacks: Mapping[Capability, str] = MappingProxyType(
        {
            Capability.LINK: "commands come by the network, so a machine off it could not be told to come back",
            Capability.DISK: "a mount would outlive its harness on a machine; --backend netns has mounts that do not",
            Capability.MACHINE: "a machine reached by SSH is nobody's container; --backend docker has them",
        }
    )
    on_this_machine = False

    def __init__(
        self,
        *,
        nodes_file: str | None = None,
        user: str | None = None,
        port: int | None = None,
        key: str | None = None,
        known_hosts: str = "~/.ssh/known_hosts",
        accept_new: bool = False,
        ask_password: bool = False,
        install: bool = False,
        no_sudo: bool = False,
        watchdog_s: float = HEAL_AFTER_S,
        passwords: tuple[Secret | None, Secret | None] | None = None,
    ) -> None:
        if nodes_file is None:
            raise UsageError("--backend ssh: name the machines in a file, one a line, and give it as --nodes-file")
        if watchdog_s <= 0:
            raise UsageError(f"--watchdog must be above 0, not {watchdog_s:g}")
        if key is not None and not Path(key).expanduser().is_file():
            raise UsageError(f"--key {key}: there is no such file; name a private key")
        self._nodes_file = nodes_file
        self._defaults = Defaults(user=user, port=port, key=key)
        self._machines = read(Path(nodes_file), self._defaults)
        self._install = install
        self._may_sudo = not no_sudo
        self._watchdog_s = watchdog_s
        self._passwords = passwords or secrets(ask=ask_password)
        self._notes: list[Note] = []
        self._authenticator = Authenticator(
            Path(known_hosts), accept_new=accept_new, password=self._passwords[0], say=lambda text: self._warn("", text)
        )
        self._run_id = ""
        self._work = Path()
        self._assigned: dict[str, Machine] = {}
        self._reached: dict[str, Reached] = {}
        self._own_address = ""
        self._hosts: dict[str, SshHost] = {}
        self._before: dict[str, State] = {}
        self._watches: dict[str, Watch] = {}
        self._lock = threading.Lock()

    def prepare(self, specs: Sequence[NodeSpec], say: Callable[[str], None]) -> None:
        """See ``Backend.prepare``: logs in everywhere, and removes what dead runs left there."""
        self._assigned = assign(specs, self._machines)
        self._reach()
        say(f"ssh      logged in on {len(self._reached)} machines of {self._nodes_file}")

        def clean(name: str) -> str:
            login = self._reached[name].greeting.folder
            host = self._reached[name].host(name, "prepare", login)
            done = host.run("sh", "-c", _CLEAN, "sh", f"{login}/{FOLDER}/runs", timeout_s=_TIMEOUT_S)
            return done.check(f"{name}: removing what dead runs left").text

        for name, removed in at_once(clean, self._assigned).items():
            for run_id in removed.splitlines():
                say(f"clean    what dead run {run_id} left on {name}")

    def _reach(self) -> None:
        """Log in where we are not."""
        addresses = {name: address_of(name, machine) for name, machine in self._assigned.items()}
        self._own_address = check_ways(self._assigned, addresses)

        def enter(name: str) -> None:
            connection = Connection(name, self._assigned[name], self._authenticator, self._passwords[1])
            try:
                greeting = connection.open(may_sudo=self._may_sudo)
            except BaseException:
                connection.close()
                raise
            with self._lock:
                self._reached[name] = Reached(addresses[name], connection, greeting)

        at_once(enter, [name for name in self._assigned if name not in self._reached])

    def up(self, run_id: str, specs: Sequence[NodeSpec], work: Path) -> Mapping[str, Host]:
        """See ``Backend.up``."""
        names_of(run_id, specs)
        if self._hosts:
            raise UsageError("this backend is up already; make another one")
        self._assigned = assign(specs, self._machines)
        self._run_id, self._work = run_id, work.resolve()
        try:
            self._reach()
            self._hosts = {spec.name: self._reached[spec.name].host(spec.name, run_id) for spec in specs}
            at_once(self._prepare, self._hosts)
            home = self._work / CLIENT
            home.mkdir(parents=True, exist_ok=True)
            client = LocalHost(self._own_address, home)
        except BaseException:
            self.down()
            raise
        return {**self._hosts, CLIENT: client}

    def _prepare(self, name: str) -> None:
        host, reached = self._hosts[name], self._reached[name]
        host.make_home()
        if not host.connection.is_root:
            why = {"asks": "sudo asks for a password: give --ask-password or CHAOS_SUDO_PASSWORD"}
            said = why.get(reached.greeting.sudo, "sudo does not help")
            self._warn(name, f"the login is not root and {said}; packet filters cannot be changed there")
        able = {Capability.SIGNALS, Capability.RESTART, Capability.PROGRAMS, Capability.FILES, Capability.CLOCK}
        host.capabilities = packet_filter.capabilities(host) | able
        before = state_of(host)
        self._tell_skew(name, before, "before the run")
        watch = Watch(host, self._run_id, self._watchdog_s, self._notes.append)
        with self._lock:
            self._before[name] = before
            self._watches[name] = watch
        watch.start()

    def provide(self, source: Path) -> str:
        """See ``Backend.provide``: by checksum, so that what is there already is not sent again.

        Raises:
            UsageError: it is not there and ``install`` was not asked for.
        """
        source = source.resolve()
        if not self._assigned:
            raise DeployError("nobody knows yet which hosts there will be; call prepare() first")
        self._reach()
        digest = digest_of(source)
        reached = {name: self._reached[name] for name in self._assigned}  # in this order, whoever answered first
        bases = {one.greeting.folder: name for name, one in reached.items()}
        if len(bases) > 1:
            apart = join_names([f"{base} on {name}" for base, name in bases.items()])
            raise UsageError(f"artefacts must lie at one path everywhere, but homes differ: {apart}; use one user")
        login = next(iter(bases))
        folder = f"{login}/{FOLDER}/artefacts"
        hosts = {name: one.host(name, "provide", login) for name, one in reached.items()}

        def has(name: str) -> bool:
            return hosts[name].run("test", "-d", f"{folder}/{digest}", timeout_s=_TIMEOUT_S).returncode == 0

        lacking = [name for name, there in at_once(has, hosts).items() if not there]
        if lacking and not self._install:
            raise UsageError(f"{' '.join(lacking)}: what the system is made of is not there; --install puts it there")
        if lacking:
            with tempfile.NamedTemporaryFile(suffix=".tar") as packed:
                with tarfile.open(packed.name, "w") as tar:
                    tar.add(source, arcname=".")
                argv = ("sh", "-c", _INSTALL, "sh", folder, digest)

                def send(name: str) -> None:
                    done = hosts[name].feed(Path(packed.name), argv)
                    done.check(f"{name}: putting {source.name} into {folder}")

                at_once(send, lacking)
        return f"{folder}/{digest}"

    def popen_inside(self, argv: Sequence[str], env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        """See ``Backend.popen_inside``: on this machine, which reaches the nodes as it is."""
        if not self._hosts:
            raise DeployError("the hosts are not up; call up() first")
        return subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, **env, **run_records.marker(self._run_id)},
        )

    def down(self) -> None:
        """See ``Backend.down``: the machines are as before but for artefacts, and what was logged is in ``work``."""
        with self._lock:
            hosts, self._hosts = self._hosts, {}
            reached, self._reached = self._reached, {}

        def leave(name: str) -> None:
            try:
                self._leave(hosts[name])
            except (ChaosError, OSError, tarfile.TarError) as error:
                rest = f"it heals itself {self._watchdog_s:g} s after the last heartbeat" if self._before else ""
                self._warn(name, f"not cleaned up: {error}; {rest}")

        try:
            at_once(leave, hosts)
        finally:
            for each in reached.values():
                each.connection.close()

    def check(self) -> None:
        """See ``Backend.check``."""
        for watch in tuple(self._watches.values()):
            watch.check()

    def _leave(self, host: SshHost) -> None:
        watch, before = self._watches.pop(host.name, None), self._before.pop(host.name, None)
        if watch is not None:
            watch.silence()
        if Capability.IPTABLES in host.capabilities:
            packet_filter.clear(host, self._run_id)
        try:
            self._fetch_logs(host)
        except (DeployError, OSError, tarfile.TarError) as error:
            self._warn(host.name, f"its logs are lost: {error}")
        if watch is not None:
            watch.stop()
        if before is not None:
            after = state_of(host)
            self._tell_skew(host.name, after, "after the run")
            for phrase in differences(before, after):
                self._warn(host.name, f"not as before the run: {phrase}", "host-changed")
        host.remove_home()

    def _fetch_logs(self, host: SshHost) -> None:
        """What the host logged comes to ``work``, where the namespaces of one machine would have left it."""
        with tempfile.NamedTemporaryFile(suffix=".tar") as packed:
            host.take(("sh", "-c", _LOGS, "sh", host.home), packed.write).check(f"{host.name}: fetching its logs")
            packed.flush()
            unpack(Path(packed.name), self._work / host.name)

    def notes(self) -> Sequence[Note]:
        """See ``Backend.notes``."""
        with self._lock:
            found, self._notes[:] = list(self._notes), []
        return found

    def _warn(self, name: str, text: str, kind: str = "ssh") -> None:
        said = f"{name}: {text}" if name else text
        note = Note(time_ns=now_ns(), name=kind, node=name or None, text=said, data={"warning": True})
        self._notes.append(note)

    def _tell_skew(self, name: str, state: State, when: str) -> None:
        text = f"{name}: clock {state.skew} against this machine, {when}"
        data = {"ahead_ns": state.skew.ahead_ns, "error_ns": state.skew.error_ns}
        self._notes.append(Note(time_ns=now_ns(), name=CLOCK_SKEW, node=name, text=text, data=data))
