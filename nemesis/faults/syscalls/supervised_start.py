"""Nodes that are started under the supervisor: the kernel asks it before each of some system calls.

The supervisor runs on the node's host from the first start on. A call that it is not to hit goes on at once, which
takes about 10 µs. Calls that no planned fault names are not asked for.
"""

import hashlib
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from chaos.core.errors import CapabilityError, ChaosError
from cluster.cluster import Node
from cluster.host import Host
from cluster.system import Launch
from nemesis.arming import Arming
from nemesis.c_program import CProgram
from nemesis.faults.syscalls.calls import Calls, members

TIMEOUT_S: Final = 30.0
PROGRAM: Final = CProgram(
    name="supervisor",
    what="the supervisor of system calls",
    sources=Path(__file__).parent / "supervisor",
    on_host=".chaos-supervisor",
)
NODE: Final = "node"
PROBE: Final = "probe"
NOBODY: Final = 3
"""The exit code of ``ask`` where no supervisor runs."""

_RULE: Final = "rule 1 5 0 1 1 fsync:1"
# A program is asked for its fsync, which fails by a rule and then does not; $1 the program, $2 a socket.
_TRY: Final = f"""\
"$1" run "$2" {PROBE} fsync "$1" probe fsync 1 >/dev/null && "$1" ask "$2" {_RULE} >/dev/null || exit
[ "$("$1" run "$2" {PROBE} fsync "$1" probe fsync 1 | cut -d " " -f 1)" = 5 ] || {{ echo "no call failed" >&2; false; }}
result=$?; "$1" ask "$2" quit >/dev/null; exit $result
"""


def socket_of(home: str) -> str:
    """The name by which the supervisor of a host is spoken to."""
    return f"chaos-syscalls-{hashlib.sha256(home.encode()).hexdigest()[:12]}"


def ask(host: Host, *words: str) -> Mapping[str, str] | None:
    """Say one thing to the supervisor of a host; the answer's words ``name=value``, None if none runs.

    Raises:
        DeployError: it does not answer, or refuses.
    """
    argv = (PROGRAM.path_in(host.home), "ask", socket_of(host.home), *words)
    done = host.run(*argv, timeout_s=TIMEOUT_S)
    if done.returncode == NOBODY:
        return None
    text = done.check(f"{host.name}: its supervisor of system calls").text
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


class Supervised(msgspec.Struct, frozen=True):
    """Has nodes start under the supervisor. ``calls``: what is asked for, by the words of ``calls``."""

    calls: frozenset[str] = frozenset()

    def for_params(self, params: Any) -> Arming | None:
        """See ``nemesis.arming.ForParams``: what is never hit need not be asked for."""
        assert isinstance(params, Calls)
        return Supervised(frozenset(params.call)) if params.share > 0 else None

    def launch(self, launch: Launch, home: str) -> Launch:
        """See ``nemesis.arming.ChangesLaunch``: one filter asks for the calls of all faults of a run."""
        head = (PROGRAM.path_in(home), "run", socket_of(home), NODE)
        calls, argv = members(self.calls), launch.argv
        if argv[: len(head)] == head:
            known = argv[len(head)].split("+")
            calls = "+".join([*known, *(call for call in calls.split("+") if call not in known)])
            argv = argv[len(head) + 1 :]
        return msgspec.structs.replace(launch, argv=(*head, calls, *argv))

    def arm(self, node: Node) -> None:
        """See ``nemesis.arming.Arming``."""
        why = obstacle(node.host)
        if why is not None:
            raise CapabilityError(f"{node.name}: {why}")

    def disarm(self, node: Node) -> None:
        """See ``nemesis.arming.Arming``."""
        if PROGRAM.is_on(node.host):
            ask(node.host, "quit")


SUPERVISED: Final = Supervised()


def obstacle(host: Host) -> str | None:
    """Why no call can be made to fail on a host, and what helps; found by doing."""
    name = f"chaos-syscalls-try-{secrets.randbits(40):010x}"
    try:
        done = host.run("sh", "-c", _TRY, "sh", PROGRAM.put_on(host), name, timeout_s=TIMEOUT_S)
    except (CapabilityError, ChaosError) as error:
        return str(error)
    if done.returncode == 0:
        return None
    return f"no system call can be made to fail: {' '.join(done.stderr.decode(errors='replace').split())}"
