"""What this machine can do, each fact found by doing it: the substance of ``chaos doctor``.

A kernel that lets ``unshare`` succeed may still deny what comes after it, so nothing is inferred from versions or
settings: two hosts are brought up, and rules, probes and a delay are tried on them. Every fact that fails names the
command that changes it. Does not change the machine.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from chaos.core.errors import CapabilityError, ChaosError
from cluster.agent import linux
from cluster.host import Capability, Host, NodeSpec, hosts_up
from cluster.hosts import interface
from cluster.hosts.netns import HELP, NetnsBackend, SandboxError
from cluster.network import packet_filter, probe_matrix
from cluster.systems._shared import gomodules

JAVA_MINIMUM: Final = 17
_MEMORY_MINIMUM_GIB: Final = 4
_TOOL_TIMEOUT_S: Final = 15.0
_PROBES: Final = 5
_LOOKS: Final = 3
"""A machine that is short of time may swallow probes; a bridge that lets none through never lets any."""

_JAVA_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
_SSHD: Final = {
    "sshd": "openssh-server",
    "ssh-keygen": "openssh-client",
    "sudo": "sudo",
    "openssl": "openssl",
    "pkill": "procps",
}
_LOGIN_HELP: Final = "ssh-keygen -t ed25519 && ssh-copy-id USER@MACHINE; or give --key FILE or CHAOS_SSH_PASSWORD"
_JAVA_HELP: Final = "apt-get install openjdk-17-jre-headless"
_STEPS: Final = {
    "user namespace": "user namespaces",
    "namespaces": "network, mount, pid, UTS and IPC namespaces",
    "mount": "mounts in namespaces",
    "iproute2": "iproute2",
    "network": "veth and bridge",
}


class Fact(msgspec.Struct, frozen=True):
    """One thing this machine can do or not.

    ``detail``: what was seen. ``help``: the command that gives it, empty if it is there. ``optional``: a run
    does without. ``gives``: what hosts here can do because of it, and faults may need. ``fault``: the fault that it is
    about, if it is about one alone.
    """

    name: str
    ok: bool
    detail: str
    help: str = ""
    optional: bool = False
    gives: Capability | None = None
    fault: str = ""


class Java(msgspec.Struct, frozen=True):
    """A Java that runs: its program and its feature release (17, 21, …)."""

    path: str
    release: int


Try = Callable[[Host], str | None]
"""Does on a host what a fault needs; why that cannot be done and what helps, None if it can."""

NO_TRIES: Final[Mapping[str, Try]] = MappingProxyType({})


def facts(tries: Mapping[str, Try] = NO_TRIES) -> list[Fact]:
    """Everything, in the order in which it is shown; takes a second or two. ``tries``: by fault."""
    groups: Sequence[Callable[[], list[Fact]]] = (
        _machine,
        lambda: namespaces(tries),
        _java,
        _maven,
        _go,
        _docker,
        machines,
        _chromium,
    )
    with ThreadPoolExecutor(len(groups)) as pool:
        return [fact for group in pool.map(lambda group: group(), groups) for fact in group]


def java_release(said: str) -> int | None:
    """Pure: the feature release in what ``java -version`` prints."""
    found = _JAVA_VERSION.search(said)
    return int(found.group(1)) if found else None


def find_java(minimum: int = JAVA_MINIMUM) -> Java | None:
    """The first Java of at least that release: JAVA_HOME, then PATH, then where distributions put them."""
    candidates = [f"{os.environ['JAVA_HOME']}/bin/java"] if os.environ.get("JAVA_HOME") else []
    candidates += [found] if (found := shutil.which("java")) else []
    candidates += sorted(map(str, Path("/usr/lib/jvm").glob("*/bin/java")), reverse=True)
    for candidate in dict.fromkeys(candidates):
        release = java_release(_said(candidate, "-version") or "")
        if release is not None and release >= minimum:
            return Java(candidate, release)
    return None


def _said(*argv: str) -> str | None:
    """What a program printed; None if it is missing, fails or hangs."""
    try:
        done = subprocess.run(argv, capture_output=True, timeout=_TOOL_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return (done.stdout + done.stderr).decode(errors="replace").strip() if done.returncode == 0 else None


def _machine() -> list[Fact]:
    cores = len(os.sched_getaffinity(0))
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    enough = memory_gib >= _MEMORY_MINIMUM_GIB
    return [
        Fact("python", True, f"{platform.python_version()} at {sys.executable}"),
        Fact("kernel", True, f"{platform.system()} {platform.release()} {platform.machine()}"),
        Fact("cores", True, str(cores)),
        Fact("memory", enough, f"{memory_gib:.1f} GiB", "" if enough else f"give it {_MEMORY_MINIMUM_GIB} GiB"),
    ]


def namespaces(tries: Mapping[str, Try] = NO_TRIES) -> list[Fact]:
    """Whether hosts in namespaces work here, step by step, and what can be done on them; half a second."""
    specs = [NodeSpec(name="a", role="probe"), NodeSpec(name="b", role="probe")]
    with tempfile.TemporaryDirectory(prefix="chaos-doctor-") as work:
        began = time.monotonic()
        try:
            with hosts_up(NetnsBackend(), f"doctor-{os.getpid()}", specs, Path(work)) as hosts:
                took_s = time.monotonic() - began
                return [*_steps(None), *_on_hosts(hosts, took_s), *_by_hosts(hosts), *_tried(hosts, tries)]
        except SandboxError as error:
            return _steps(error)
        except ChaosError as error:
            return [Fact("network namespaces", False, str(error), HELP["namespaces"])]


def _steps(refused: SandboxError | None) -> list[Fact]:
    """A fact for each step into namespaces, given the one that was refused."""
    steps = list(_STEPS)
    broken = len(steps) if refused is None else steps.index(refused.step)
    found = [Fact(_STEPS[step], True, "works") for step in steps[:broken]]
    if found and linux.capable():
        found[0] = Fact(found[0].name, True, "not needed by this user")
    if refused is not None:
        found.append(Fact(_STEPS[refused.step], False, refused.detail, refused.help))
        unknown = f"not tried without {_STEPS[refused.step]}"
        found += [Fact(_STEPS[step], False, unknown, refused.help) for step in steps[broken + 1 :]]
    return found


# A process of ours is stopped, let go on and killed; each is seen in /proc.
_SIGNALS: Final = """\
state() { read -r line < "/proc/$pid/stat" && set -- ${line##*) } && echo "$1"; }
seen() {
  left=100
  until [ "$(state)" "$1" T ] || [ "$left" = 0 ]; do sleep 0.01; left=$((left - 1)); done
  [ "$left" != 0 ]
}
sleep 60 & pid=$!
kill -STOP "$pid" && seen = && kill -CONT "$pid" && seen !=; result=$?
kill -KILL "$pid" && wait "$pid"
exit "$result"
"""


def _by_hosts(hosts: Mapping[str, Host]) -> list[Fact]:
    """What faults of nodes need of every host: signals, programs of ours, and its own link."""
    first, *_, last = hosts.values()
    signals = first.run("sh", "-c", _SIGNALS, timeout_s=_TOOL_TIMEOUT_S).returncode == 0
    programs = first.run("python3", "-I", "-S", "-c", "print(1)", timeout_s=_TOOL_TIMEOUT_S).text == "1"
    try:
        interface.take_down(last)
        unplugged = not interface.is_up(last)
        interface.put_up(last)
        plugged = unplugged and interface.is_up(last)
    except ChaosError as error:
        plugged, said = False, str(error)
    else:
        said = "a host can leave its network and come back" if plugged else "a host cannot leave its network"
    signalled = "can be stopped, let go on and killed" if signals else "cannot be stopped"
    ran = "python3 runs on hosts" if programs else "python3 does not run on hosts"
    return [
        Fact("processes", signals, signalled, gives=Capability.SIGNALS),
        Fact("programs", programs, ran, gives=Capability.PROGRAMS),
        Fact("link", plugged, said, "" if plugged else "apt-get install iproute2", gives=Capability.LINK),
    ]


def _on_hosts(hosts: Mapping[str, Host], took_s: float) -> list[Fact]:
    whole = False
    for _ in range(_LOOKS):
        links = probe_matrix.measure(hosts, _PROBES)
        if whole := len(links.complete()) == len(links.received):
            break
    up = f"{len(hosts)} hosts in {took_s:.2f} s, probes pass on {len(links.complete())} of {len(links.received)} links"
    found = [Fact("hosts", whole, up, "" if whole else "sysctl net.bridge.bridge-nf-call-iptables=0")]
    host = next(iter(hosts.values()))
    try:
        version = host.run(packet_filter.variant(host), "--version", timeout_s=_TOOL_TIMEOUT_S).text
        found.append(Fact("iptables", True, version, gives=Capability.IPTABLES))
    except CapabilityError as error:
        found.append(Fact("iptables", False, str(error), "apt-get install iptables", gives=Capability.IPTABLES))
    gives = Capability.STATISTIC
    found.append(
        Fact("iptables statistic", True, "a share of packets can be dropped", gives=gives)
        if gives in host.capabilities
        else Fact(
            "iptables statistic", False, "no share of packets can be dropped", "modprobe xt_statistic", gives=gives
        )
    )
    netem = host.run("tc", "qdisc", "add", "dev", "eth0", "root", "netem", "delay", "1ms", timeout_s=_TOOL_TIMEOUT_S)
    said = " ".join(netem.stderr.decode(errors="replace").split())
    found.append(
        Fact("tc netem", True, "delay works", optional=True)
        if netem.returncode == 0
        else Fact("tc netem", False, said, "modprobe sch_netem", optional=True)
    )
    return found


def _tried(hosts: Mapping[str, Host], tries: Mapping[str, Try]) -> list[Fact]:
    """A fact for each fault that has something of its own to try."""
    host = next(iter(hosts.values()))
    found = []
    for name, attempt in tries.items():
        said, _, helps = (attempt(host) or "").rpartition("; ")
        found.append(
            Fact(f"fault {name}", False, said, helps, optional=True, fault=name)
            if helps
            else Fact(f"fault {name}", True, "works", optional=True, fault=name)
        )
    return found


def _java() -> list[Fact]:
    java = find_java()
    if java is not None:
        return [Fact("java", True, f"Java {java.release} at {java.path}")]
    return [Fact("java", False, f"no Java {JAVA_MINIMUM} or later", _JAVA_HELP)]


def _maven() -> list[Fact]:
    said = _said("mvn", "-B", "-v")
    if said is None:
        detail = "not found; systems that are fetched as jars need it"
        return [Fact("maven", False, detail, "apt-get install maven", optional=True)]
    return [Fact("maven", True, said.splitlines()[0], optional=True)]


def _go() -> list[Fact]:
    release, least = gomodules.go_found(os.environ), ".".join(map(str, gomodules.GO_LEAST))
    if release is None or release < gomodules.GO_LEAST:
        found = "not found" if release is None else f"{release[0]}.{release[1]} is older than {least}"
        detail = f"{found}; only systems in other versions than Debian's, built of Go modules, need it"
        return [Fact("go", False, detail, gomodules.GO_HELP, optional=True)]
    return [Fact("go", True, f"Go {release[0]}.{release[1]}", optional=True)]


def find_chromium() -> str | None:
    """The path of a Chromium or Chrome, which the tests of the report page drive; one without windows is quicker."""
    programs = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, programs)), None)


def _chromium() -> list[Fact]:
    program = find_chromium()
    if program is None:
        return [Fact("chromium", False, "not found; only tests need it", "apt-get install chromium", optional=True)]
    return [Fact("chromium", True, program, optional=True)]


def _agent() -> bool | None:
    """Whether an agent is there and holds keys; None: there is none."""
    if not os.environ.get("SSH_AUTH_SOCK"):
        return None
    return _said("ssh-add", "-l") is not None


def machines() -> list[Fact]:
    """What reaching machines takes here, and what only tests of it need."""
    known = Path("~/.ssh/known_hosts").expanduser()
    keys = [path.name for path in sorted(known.parent.glob("id_*")) if path.suffix != ".pub"]
    agent, password = _agent(), bool(os.environ.get("CHAOS_SSH_PASSWORD"))
    have = [f"keys {', '.join(keys)}" if keys else "no key of the usual names"]
    have.append("an agent with keys" if agent else "an agent without keys" if agent is not None else "no agent")
    have += ["a password"] if password else []
    have.append(f"{known} is there" if known.exists() else f"no {known}, so --accept-new has to learn host keys")
    can = bool(keys or agent or password)
    return [Fact("ssh", can, ", ".join(have), "" if can else _LOGIN_HELP, optional=True), *machines_for_tests()]


def machines_for_tests() -> list[Fact]:
    """Whether tests can make machines that are reached by SSH; they bring their own keys."""
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    missing = [package for program, package in _SSHD.items() if shutil.which(program, path=path) is None]
    if missing:
        help_text = f"apt-get install {' '.join(dict.fromkeys(missing))}"
        return [Fact("sshd", False, "not all there; only tests need it", help_text, optional=True)]
    if os.geteuid() != 0:
        return [Fact("sshd", False, "logins need root; only tests need them", "run as root", optional=True)]
    return [Fact("sshd", True, str(shutil.which("sshd", path=path)), optional=True)]


def _docker() -> list[Fact]:
    """The engine, what it can do, and whether an image for hosts is there; none of it is needed by other backends."""
    from cluster.hosts.docker import image
    from cluster.hosts.docker.engine import connect

    try:
        engine = connect(int(_TOOL_TIMEOUT_S))
    except CapabilityError as error:
        said, _, help_text = str(error).removeprefix("docker: ").rpartition("; ")
        return [Fact("docker engine", False, said, help_text, optional=True)]
    found = [Fact("docker engine", True, engine.described, optional=True)]
    try:
        engine.check_enterable()
    except CapabilityError as error:
        said, _, help_text = str(error).removeprefix("docker: ").rpartition("; ")
        found.append(Fact("docker hosts", False, said, help_text, optional=True))
    else:
        found.append(Fact("docker hosts", True, "load and observers may enter their network", optional=True))
    limits = {"cores": engine.limits_cpus, "memory": engine.limits_memory}
    lacking = [name for name, can in limits.items() if not can]
    found.append(
        Fact("docker limits", False, f"no limit on {', '.join(lacking)}", "use cgroup v2 or a rootful engine", True)
        if lacking
        else Fact("docker limits", True, "cores and memory", optional=True)
    )
    tags = image.image_names(engine)
    found.append(
        Fact("docker image", True, ", ".join(tags), optional=True)
        if tags
        else Fact("docker image", False, "none for hosts yet; the first run makes it", "chaos image build", True)
    )
    return found
