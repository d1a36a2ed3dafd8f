"""A node's process: start, signal, kill, and what /proc says of it.

Systems say *what* to run (``Launch``), this module runs it the same way on every kind of host: through ``Host`` and
POSIX sh with coreutils only, one run per action. A process is known by pid *and* start time, its children by its
session, because a bare pid comes round again. Every signal is followed by a look at /proc, and what did not happen
before the deadline is an error that says so.
"""

import re
from collections.abc import Callable
from typing import Final

from chaos.core import waiting
from chaos.core.clock import Deadline
from chaos.core.errors import DeadlineError, DeployError
from cluster.cluster import Node
from cluster.nodes.process_state import Listed, ProcId, ProcState, parse_list, parse_state, with_successor

STDOUT: Final = "logs/stdout.log"
"""Standard output and error of the node's process, relative to the host's home; every start appends."""

PID_FILE: Final = "process.pid"
"""Pid, start time, and the length of the log when the process started."""

GRACE_S: Final = 10.0
"""How long a process that was asked to end may take, as with docker stop."""

_RUN_TIMEOUT_S: Final = 15.0
_SIGNAL_TIMEOUT_S: Final = 10.0
_COMMAND_TIMEOUT_S: Final = 60.0
_STOP_ATTEMPT_S: Final = 0.5
_POLL_S: Final = 0.02
_READY_POLL_S: Final = 0.05
_CHUNK_BYTES: Final = 1 << 20
_LINE_BYTES: Final = 1 << 16
_TAIL_LINES: Final = 5
_TAIL_BYTES: Final = 600
_ALREADY: Final = 9
_MARK: Final = "--"

# What scripts that look at a node's process begin with; $1: the host's home.
# `begun PID`: the start time of a live process. `known`: sets pid, start and from; fails without a pid file.
# `scan`: the pid file, then "tgid tid state start" for every thread of the process and of its session. A shell reads
# byte by byte, so grep says which of hundreds of processes may be one of them.
COMMON: Final = f"""\
cd "$1" || exit
begun() {{
  {{ read -r line < "/proc/$1/stat"; }} 2>/dev/null || return 1
  set -- ${{line##*) }}
  case $1 in [ZX]) return 1 ;; esac
  echo "${{20}}"
}}
known() {{ [ -f {PID_FILE} ] && read -r pid start from < {PID_FILE}; }}
scan() {{
  known || return 0
  echo "$pid $start $from"
  if command -v grep > /dev/null; then
    stats=$(grep -lsE -e "^$pid " -e "\\) [^ ]+ [^ ]+ [^ ]+ $pid " /proc/[0-9]*/stat)
  else
    stats=$(echo /proc/[0-9]*/stat)
  fi
  for stat in $stats; do
    {{ read -r line < "$stat"; }} 2>/dev/null || continue
    tgid=${{stat#/proc/}}; tgid=${{tgid%/stat}}
    set -- ${{line##*) }}
    [ "$tgid" = "$pid" ] || [ "$4" = "$pid" ] || continue
    for task in /proc/"$tgid"/task/[0-9]*/stat; do
      {{ read -r line < "$task"; }} 2>/dev/null || continue
      tid=${{task%/stat}}; tid=${{tid##*/}}
      set -- ${{line##*) }}
      echo "$tgid $tid $1 ${{20}}"
    done
  done
}}
"""
STATE: Final = COMMON + "scan\n"
# $2: the signal. If the pid belongs to a process with another start time, so does the session: hands off.
SIGNAL: Final = (
    COMMON
    + """\
signal=$2
known || exit 0
now=$(begun "$pid") && [ "$now" != "$start" ] && exit 0
kill -s "$signal" "$pid" 2>/dev/null
kill -s "$signal" -- "-$pid" 2>/dev/null
scan | while read -r tgid tid _; do
  [ "$tgid" = "$tid" ] && [ "$tgid" != "$pid" ] && kill -s "$signal" "$tgid" 2>/dev/null
done
exit 0
"""
)
# $2 and on: the arguments of env(1). The process tells its start time before it becomes the node's, since a shell may
# forget at once a child that ended; the substitution lasts until its output goes to the log.
START: Final = (
    COMMON
    + f"""\
shift
known && [ "$(begun "$pid")" = "$start" ] && exit {_ALREADY}
mkdir -p {STDOUT.rpartition("/")[0]} && : >> {STDOUT} && from=$(wc -c < {STDOUT}) || exit
become='read -r line < "/proc/$$/stat" && echo "$line" && exec env "$@" >> {STDOUT} 2>&1'
line=$(setsid sh -c "$become" sh "$@" < /dev/null &)
[ "$line" ] || exit
pid=${{line%% *}}
set -- ${{line##*) }}
echo "$pid ${{20}} $((from))" > {PID_FILE}.partial && mv {PID_FILE}.partial {PID_FILE} && cat {PID_FILE}
"""
)
# $2: where in the log to go on reading
OUTPUT: Final = (
    STATE
    + f"""\
echo
tail -c "+$(($2 + 1))" {STDOUT} | head -c {_CHUNK_BYTES}
"""
)


# Every process that is not of the command that looks: pid, start time, command line.
_LISTING: Final = """\
for folder in /proc/[0-9]*; do
  { read -r line < "$folder/stat"; } 2>/dev/null || continue
  set -- ${line##*) }
  [ "$4" = "$$" ] && continue
  said=$(tr '\\0\\n\\r' ' ' 2> /dev/null < "$folder/cmdline")
  [ -z "$said" ] || printf '%s\\n' "${folder#/proc/}:${20} $said|"
done
"""
_LIST: Final = COMMON + _LISTING
_STATE_AND_LIST: Final = f'{STATE}echo {_MARK}\nread -r up _ < /proc/uptime && echo "$up"\n{_LISTING}'
# $2 and on: pid, start time.
_ADOPT: Final = (
    COMMON
    + f"""\
echo "$2 $3 0" > {PID_FILE}.partial && mv {PID_FILE}.partial {PID_FILE}
"""
)


class ProcessEndedError(DeployError):
    """A process ended before it said that it serves."""


def tail(log: bytes) -> str:
    """Pure: the end of a log on one line."""
    lines = [line.strip() for line in log.decode(errors="replace").splitlines() if line.strip()]
    return " | ".join(lines[-_TAIL_LINES:])[-_TAIL_BYTES:] or "(no output)"


def start(node: Node, run_id: str) -> ProcId:
    """Write the node's files and start its process in a session of its own; its output goes to ``STDOUT``.

    Raises:
        DeployError: it runs already, or the host refused.
    """
    host, launch = node.host, node.launch
    _put_files(node)
    if launch.found_by:
        return _start_elsewhere(node)
    env = [f"{name}={value}" for name, value in {**launch.env, "CHAOS_RUN": run_id}.items()]
    done = host.run("sh", "-c", START, "sh", host.home, *env, *launch.argv, timeout_s=_RUN_TIMEOUT_S)
    if done.returncode == _ALREADY:
        raise DeployError(f"{node.name}: its process runs already; kill it before starting it again")
    pid, begun, offset = done.check(f"{node.name}: starting its process").text.split()
    return ProcId(int(pid), int(begun), int(offset))


def _put_files(node: Node) -> None:
    """Write what the node's commands need."""
    for path, content in node.launch.files.items():
        node.host.put(content, f"{node.host.home}/{path}")


def adopt(node: Node) -> ProcId | None:
    """Take the process that the node's launch describes for the node's; None if there is none.

    Raises:
        DeployError: several fit.
    """
    found = _matching(node)
    if found is None:
        return None
    _run(node, _ADOPT, str(found.pid), str(found.start_time))
    return ProcId(found.pid, found.start_time, 0)


def _matching(node: Node) -> Listed | None:
    """The process that the node's launch describes; raises as ``adopt``."""
    found = [each for each in parse_list(_run(node, _LIST)) if re.search(node.launch.found_by, each.command)]
    if len(found) > 1:
        many = ", ".join(f"{each.pid} ({each.command[:60].strip()})" for each in found)
        raise DeployError(f"{node.name}: {len(found)} processes match {node.launch.found_by!r}: {many}; say more of it")
    return found[0] if found else None


def stop(node: Node, grace_s: float = GRACE_S) -> bool:
    """Ask the process to end, by SIGTERM to all of its session; what has not within ``grace_s`` is killed.

    A process with a stop command of its own, which is somebody else's, is asked by that and never killed.
    Returns whether it ended by itself; fine if it is dead.

    Raises:
        DeadlineError: its own command did not end it.
    """
    if node.launch.stop:
        _put_files(node)  # nothing has started a process that was there before
        done = node.host.run(*node.launch.stop, timeout_s=_COMMAND_TIMEOUT_S)
        done.check(f"{node.name}: stopping its process")
        deadline = Deadline(f"{node.name} to end by its stop command", _COMMAND_TIMEOUT_S)
    else:
        _run(node, SIGNAL, "TERM")
        deadline = Deadline(f"{node.name} to end", grace_s)
    while not state(node).gone:
        if node.launch.stop:
            deadline.check()
        elif deadline.expired():
            kill(node)
            return False
        waiting.sleep(_POLL_S)
    return True


def _start_elsewhere(node: Node) -> ProcId:
    """Start a process by a command that leaves it in the background, and find it."""
    if _matching(node) is not None:
        raise DeployError(f"{node.name}: its process runs already; kill it before starting it again")
    node.host.run(*node.launch.argv, timeout_s=_COMMAND_TIMEOUT_S).check(f"{node.name}: starting its process")
    deadline = Deadline(f"a process that matches {node.launch.found_by!r} on {node.name}", _COMMAND_TIMEOUT_S)
    while (found := adopt(node)) is None:
        deadline.check()
        waiting.sleep(_READY_POLL_S)
    return found


def state(node: Node) -> ProcState:
    """Look at the node's process now; one that is found by its command line may have a successor."""
    if not node.launch.found_by:
        return parse_state(_run(node, STATE))
    own, _, rest = _run(node, _STATE_AND_LIST).partition(f"{_MARK}\n")
    uptime, _, listed = rest.partition("\n")
    return with_successor(parse_state(own), node.launch.found_by, float(uptime), parse_list(listed))


def kill(node: Node, timeout_s: float = _SIGNAL_TIMEOUT_S) -> ProcState:
    """SIGKILL the process and all of its session, stopped or not; returns when nothing is left, fine if dead."""
    return _signal(node, "KILL", lambda seen: seen.gone, timeout_s)


def pause(node: Node, timeout_s: float = _SIGNAL_TIMEOUT_S) -> ProcState:
    """SIGSTOP the process and its session; returns when every thread is stopped.

    A process caught between vfork and exec waits, unstoppable, for its stopped child: it is let go and caught again.

    Raises:
        DeployError: there is no process.
    """
    deadline = Deadline(f"every thread on {node.name} to stop", timeout_s)
    while True:
        try:
            seen = _signal(node, "STOP", lambda seen: seen.stopped or not seen.alive, _STOP_ATTEMPT_S)
        except DeadlineError as error:
            deadline.check(str(error))
            _run(node, SIGNAL, "CONT")
            continue
        if not seen.alive:
            raise DeployError(f"{node.name}: no live process to stop; it ended before")
        return seen


def resume(node: Node, timeout_s: float = _SIGNAL_TIMEOUT_S) -> ProcState:
    """SIGCONT the process and its session; returns when it runs, fine if it is dead or was never stopped."""
    return _signal(node, "CONT", lambda seen: not seen.stopped, timeout_s)


def await_ready(node: Node, deadline: Deadline) -> None:
    """Wait until the log of the process started last matches ``launch.ready_pattern``.

    Raises:
        ProcessEndedError: the process ended first; the message holds the end of its log.
        DeadlineError: it did not become ready in time; the message holds the end of its log.
    """
    pattern = re.compile(node.launch.ready_pattern.encode(), re.MULTILINE)
    begun = _run(node, STATE).split()
    if not begun:
        raise DeployError(f"{node.name}: no process was started; nothing can become ready")
    position, text = int(begun[2]), b""
    while True:
        seen, chunk = _output(node, position)
        position += len(chunk)
        text += chunk
        if pattern.search(text):
            return
        if not seen.alive and not chunk:
            raise ProcessEndedError(f"{node.name}: its process ended before it was ready: {tail(text)}")
        deadline.check(f"{node.name} last said: {tail(text)}")
        text = text[-_LINE_BYTES:]
        if not chunk:
            waiting.sleep(min(_READY_POLL_S, deadline.remaining_s()))


def _output(node: Node, position: int) -> tuple[ProcState, bytes]:
    """The process' state, and then what its log holds from ``position`` on, up to a bound."""
    script = ("sh", "-c", OUTPUT, "sh", node.host.home, str(position))
    done = node.host.run(*script, timeout_s=_RUN_TIMEOUT_S).check(f"{node.name}: reading the log of its process")
    head, _, chunk = done.stdout.partition(b"\n\n")
    return parse_state(head.decode()), chunk


def _run(node: Node, script: str, *arguments: str) -> str:
    done = node.host.run("sh", "-c", script, "sh", node.host.home, *arguments, timeout_s=_RUN_TIMEOUT_S)
    return done.check(f"{node.name}: looking at its process").text


def _signal(node: Node, name: str, reached: Callable[[ProcState], bool], timeout_s: float) -> ProcState:
    """Send the signal until ``reached``: a process that forks meanwhile is met by the next one."""
    deadline = Deadline(f"SIG{name} to take effect on {node.name}", timeout_s)
    while True:
        _run(node, SIGNAL, name)
        seen = state(node)
        if reached(seen):
            return seen
        deadline.check(f"last seen: {seen}")
        waiting.sleep(_POLL_S)
