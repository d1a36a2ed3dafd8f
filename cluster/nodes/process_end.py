"""After a process ended, or was slow: its last words, what it lacked, and whether it had its share of the CPUs.

What is seen here decides whose failure it is: a system that ends by itself, or a machine or harness that did not give
it what it needs. The module only looks; it is POSIX sh with coreutils on the host, one run per look.
"""

from typing import Final, NamedTuple

from chaos.core.errors import ChaosError
from cluster.cluster import Node
from cluster.nodes.process import COMMON, STDOUT

_TIMEOUT_S: Final = 15.0
_LINE_CHARS: Final = 300
_TAIL_BYTES: Final = 8192
LEAST_WANT: Final = 0.9
"""Of the time that went by: a process that wanted a CPU for less of it had time to spare, however long it waited."""

TAIL: Final = (
    COMMON
    + f"""\
known || exit 0
tail -c "+$((from + 1))" {STDOUT} | tail -c {_TAIL_BYTES}
"""
)
# $2 and on: absolute paths, after the program's name.
MISSING: Final = (
    COMMON
    + """\
shift
command -v "$1" > /dev/null || echo "$1"
shift
for path in "$@"; do [ -e "$path" ] || echo "$path"; done
"""
)
OOM_KILLS: Final = "while read -r name number; do [ $name = oom_kill ] && echo $number; done < /proc/vmstat; exit 0"
# "tid ran waited" in nanoseconds for every thread of the process and of its session.
TIMES: Final = (
    COMMON
    + """\
scan | while read -r tgid tid _; do
  { read -r ran waited _ < "/proc/$tgid/task/$tid/schedstat"; } 2>/dev/null && echo "$tid $ran $waited"
done
exit 0
"""
)


def last_line(log: bytes) -> str:
    """Pure: the last line that says something; the frames of a stack trace do not. Empty if there is none."""
    lines = [line.strip() for line in log.decode(errors="replace").splitlines()]
    said = [line for line in lines if line and not line.startswith(("at ", "... "))]
    return said[-1][:_LINE_CHARS] if said else ""


class CpuTime(NamedTuple):
    """A thread's time since it began, in ns: how long it ran, and how long it could have run and had to wait."""

    ran_ns: int
    waited_ns: int


def starved_share(before: dict[int, CpuTime], after: dict[int, CpuTime], wall_ns: int) -> float:
    """Pure: of the time that a process wanted a CPU the share in which it had to wait, by thread.

    All threads count together: a runtime that moves its work from thread to thread, as Go's does, spreads its waits
    thinly over them. A process that wanted a CPU for less than ``LEAST_WANT`` of the time got all its work done, and is
    not starved.
    """
    new = CpuTime(0, 0)
    ran_ns = sum(now.ran_ns - before.get(thread, new).ran_ns for thread, now in after.items())
    waited_ns = sum(now.waited_ns - before.get(thread, new).waited_ns for thread, now in after.items())
    wanted_ns = ran_ns + waited_ns
    return 0.0 if wanted_ns == 0 or wanted_ns < LEAST_WANT * wall_ns else waited_ns / wanted_ns


def last_words(node: Node) -> str:
    """The last line of the log of the process that was started last; what went wrong if it cannot be read."""
    try:
        return last_line(_run(node, TAIL))
    except ChaosError as error:
        return f"(its log cannot be read: {error})"


def missing_files(node: Node) -> tuple[str, ...]:
    """What the node's command line names and the host does not have: the program, absolute paths.

    Raises:
        ChaosError: the host could not be asked.
    """
    program, *words = node.launch.argv
    named = [path.removesuffix("/*") for word in words for path in word.split(":")]
    named += [value for value in node.launch.env.values() if ":" not in value]
    found = _run(node, MISSING, program, *(path for path in named if path.startswith("/")))
    return tuple(found.decode(errors="replace").splitlines())


def oom_kills(node: Node) -> int | None:
    """How many processes the kernel under this host has ended for want of memory; None if it does not say."""
    text = _run(node, OOM_KILLS).strip()
    return int(text) if text.isdigit() else None


def cpu_times(node: Node) -> dict[int, CpuTime]:
    """For each thread of the node's process what it has had of the CPUs so far.

    Empty if the kernel does not say.

    Raises:
        ChaosError: the host could not be asked.
    """
    said = (map(int, line.split()) for line in _run(node, TIMES).decode().splitlines())
    return {thread: CpuTime(ran_ns, waited_ns) for thread, ran_ns, waited_ns in said}


def _run(node: Node, script: str, *arguments: str) -> bytes:
    done = node.host.run("sh", "-c", script, "sh", node.host.home, *arguments, timeout_s=_TIMEOUT_S)
    return done.check(f"{node.name}: looking at what became of its process").stdout
