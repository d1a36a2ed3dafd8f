"""A cluster that is there already: how its processes are found, started and stopped, as a file says.

::

    broker:                                    # for each role of the cluster
      process: BrokerStartup                   # regular expression: the one process whose command line matches
      start: cd /opt/rocketmq && nohup bin/mqbroker -c conf/{name}.conf &
      stop: cd /opt/rocketmq && bin/mqshutdown broker
      logs: [/root/logs/rocketmqlogs/broker.log]

``{name}`` and ``{address}`` are the node's. Commands run by sh in the home of the login. A run starts a node's process
again after it killed it; what was up before a run is up after it, and what was not is stopped. Does not install,
configure or remove anything.
"""

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from chaos.core.errors import UsageError
from chaos.storage.runinfo import NodeInfo
from cluster.system import Launch

_TEXTS: Final = ("process", "start", "stop")
_KEYS: Final = (*_TEXTS, "logs")

# $1: the host's home, where output goes. $2: the file with the command, so that `pkill -f` in it does not find
# the shell that runs it. Nothing of a run clings to what it starts.
_BY_LOGIN: Final = """\
mkdir -p "$1/logs" && exec >> "$1/logs/stdout.log" 2>&1 < /dev/null || exit
unset CHAOS_RUN CHAOS_COMMAND CHAOS_OWNER TMPDIR
eval "HOME=~$(id -un)" && export HOME && cd && exec sh "$1/$2"
"""


class Commands(msgspec.Struct, frozen=True, kw_only=True):
    """What a role's processes are known by, and the commands that start and stop them."""

    process: str
    start: str
    stop: str
    logs: tuple[str, ...] = ()


def read(path: Path, roles: Iterable[str], used: Iterable[str]) -> dict[str, Commands]:
    """The commands of each role that a cluster has.

    Args:
        path: the file.
        roles: those of the system.
        used: those of them that the cluster has nodes of.

    Raises:
        UsageError: the file, what is wrong in it and what would be right.
    """
    try:
        content = yaml.safe_load(path.read_text())
    except OSError as error:
        raise UsageError(f"--reuse {path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"--reuse {path}: not YAML: {' '.join(str(error).split())}") from None
    return parse(content, str(path), tuple(roles), frozenset(used))


def parse(content: Any, file: str, roles: tuple[str, ...], used: Collection[str]) -> dict[str, Commands]:
    """Pure: what ``read`` gives for a file's content."""
    if not isinstance(content, Mapping):
        raise UsageError(f"{file}: write a role of the system ({', '.join(roles)}) and its commands below it")
    _known(file, content, roles, "role")
    missing = [role for role in roles if role in used and role not in content]
    if missing:
        raise UsageError(f"{file}: nothing about {', '.join(missing)}; each role of the cluster needs its commands")
    return {role: _commands(f"{file}: {role}", content[role]) for role in roles if role in content}


def _known(where: str, words: Iterable[Any], known: tuple[str, ...], kind: str) -> None:
    for word in words:
        if word not in known:
            near = difflib.get_close_matches(str(word), known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            raise UsageError(f"{where}: unknown {kind} {word!r}; {hint}")


def _commands(where: str, content: Any) -> Commands:
    if not isinstance(content, Mapping):
        raise UsageError(f"{where}: write {', '.join(_KEYS)} below it")
    _known(where, content, _KEYS, "key")
    for key in _TEXTS:
        if not isinstance(content.get(key), str) or not content[key].strip():
            raise UsageError(f"{where}: `{key}` is missing or no text")
    try:
        re.compile(content["process"])
    except re.error as error:
        raise UsageError(f"{where}: process {content['process']!r} is no regular expression: {error}") from None
    logs = content.get("logs", [])
    if not isinstance(logs, list) or not all(isinstance(path, str) and path.startswith("/") for path in logs):
        raise UsageError(f"{where}: logs: give a list of absolute paths")
    return Commands(process=content["process"], start=content["start"], stop=content["stop"], logs=tuple(logs))


def launch(commands: Commands, node: NodeInfo, home: str) -> Launch:
    """Pure: how a node's process is found, started and stopped."""

    def filled(command: str) -> bytes:
        return f"{command.replace('{name}', node.name).replace('{address}', node.address)}\n".encode()

    return Launch(
        argv=("sh", "-c", _BY_LOGIN, "sh", home, "start.sh"),
        env={},
        files={"start.sh": filled(commands.start), "stop.sh": filled(commands.stop)},
        ready_pattern="",
        logs=commands.logs,
        data=(),
        found_by=commands.process,
        stop=("sh", "-c", _BY_LOGIN, "sh", home, "stop.sh"),
    )
