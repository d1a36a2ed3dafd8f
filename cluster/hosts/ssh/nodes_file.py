"""The file that names the machines: YAML, or one host a line.

::

    user: root                        # what holds for every node that says nothing else; all optional
    port: 22
    key: ~/.ssh/id_ed25519
    jump: me@bastion.example:22
    nodes:
      - 192.0.2.11
      - {name: b1, address: 192.0.2.12, user: admin, port: 2222, key: ~/.ssh/other, roles: [broker]}

A plain list, and lines of ``[user@]host[:port]`` as Jepsen and OpenChaos have them, will do. Everything here is pure
but ``read``. Does not take passwords. An unknown key is an error with file and line.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from chaos.core.errors import UsageError
from cluster.host import NodeSpec

SSH_PORT: Final = 22
_LINE: Final = re.compile(r"(?:(?P<user>[^@\s:]+)@)?(?P<address>[A-Za-z0-9._-]+)(?::(?P<port>\d{1,5}))?")
_OF_ALL: Final = ("user", "port", "key", "jump", "nodes")
_OF_ONE: Final = ("name", "address", "user", "port", "key", "jump", "roles")
_SECRETS: Final = ("password", "passphrase", "sudo_password")
_NO_SECRETS: Final = "secrets do not belong in files; set CHAOS_SSH_PASSWORD or use --ask-password"
_HIGHEST_PORT: Final = 65_535


class Login(msgspec.Struct, frozen=True, kw_only=True):
    """Where and as whom to log in. ``key``: a private key's file; None for the agent and the usual files."""

    address: str
    port: int = SSH_PORT
    user: str | None = None
    key: str | None = None


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """One machine. ``where``: file and line that name it. ``roles``: those it may have, all if empty."""

    login: Login
    where: str
    name: str | None = None
    jump: Login | None = None
    roles: tuple[str, ...] = ()


class Defaults(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for machines that say nothing else."""

    user: str | None = None
    port: int | None = None
    key: str | None = None


def read(path: Path, defaults: Defaults) -> tuple[Machine, ...]:
    """The machines that a file names, in its order.

    Raises:
        UsageError: the file, the line, what is wrong and what would be right.
    """
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise UsageError(f"--nodes-file {path}: {reason}") from None
    return parse(text, str(path), defaults)


def parse(text: str, file: str, defaults: Defaults) -> tuple[Machine, ...]:
    """Pure: what ``read`` gives for the file's content."""
    try:
        root = None if _is_lines(text) else yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", error)
        raise UsageError(f"{file}{line}: neither YAML nor one host a line: {problem}") from None
    machines = _lines(text, file, defaults) if root is None else _Yaml(file, defaults).machines(root)
    if not machines:
        raise UsageError(f"{file}: it names no hosts; write one a line")
    seen: dict[str, str] = {}
    for machine in machines:
        for what in filter(None, (machine.name, machine.login.address)):
            if what in seen:
                raise UsageError(f"{machine.where}: {what} is named in {seen[what]} already; each node needs its own")
        seen |= dict.fromkeys(filter(None, (machine.name, machine.login.address)), machine.where)
    return machines


def assign(specs: Sequence[NodeSpec], machines: Sequence[Machine]) -> dict[str, Machine]:
    """Pure: a machine for each node: the one of its name, else the next with its role, else the next without roles.

    Raises:
        UsageError: there are too few, or a name's machine may not have the role.
    """
    wanted = {spec.name for spec in specs}
    given = {machine.name: machine for machine in machines if machine.name in wanted}
    free = [machine for machine in machines if machine.name not in wanted]
    found: dict[str, Machine] = {}
    for spec in specs:
        machine = given.get(spec.name)
        if machine is None:
            machine = next((each for each in free if spec.role in each.roles), None)
            machine = machine or next((each for each in free if not each.roles), None)
            if machine is None:
                raise UsageError(
                    f"no host is left for {spec.name} ({spec.role}): {len(specs)} nodes need a host each, "
                    f"{len(machines)} are in {machines[0].where.rpartition(':')[0]}"
                )
            free.remove(machine)
        elif machine.roles and spec.role not in machine.roles:
            raise UsageError(f"{machine.where}: {spec.name} is a {spec.role}, which is not among its roles")
        found[spec.name] = machine
    return found


def _is_lines(text: str) -> bool:
    """Whether the first line that says something is a host and not YAML."""
    said = [line for line in (line.partition("#")[0].strip() for line in text.splitlines()) if line]
    return not said or not (said[0][0] in "-[{" or said[0].endswith(":") or ": " in said[0])


def _lines(text: str, file: str, defaults: Defaults) -> tuple[Machine, ...]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].strip()
        if words:
            where = f"{file}:{number}"
            found.append(Machine(login=_login(words, where, defaults), where=where))
    return tuple(found)


def _login(words: str, where: str, defaults: Defaults) -> Login:
    match = _LINE.fullmatch(words)
    if match is None:
        raise UsageError(f"{where}: {words!r} is no host; write [user@]host[:port]")
    port = match["port"] or defaults.port or SSH_PORT
    user = match["user"] or defaults.user
    return Login(address=match["address"], port=_port(str(port), where), user=user, key=defaults.key)


def _port(text: str, where: str) -> int:
    if not text.isdigit() or not 0 < int(text) <= _HIGHEST_PORT:
        raise UsageError(f"{where}: port {text!r}: give a number from 1 to {_HIGHEST_PORT}")
    return int(text)


class _Yaml:
    """Walks composed YAML, because only that knows its lines."""

    def __init__(self, file: str, defaults: Defaults) -> None:
        self._file = file
        self._defaults = defaults
        self._jump: Login | None = None

    def machines(self, root: yaml.Node) -> tuple[Machine, ...]:
        """All machines below the root."""
        nodes: yaml.Node | None = root
        if isinstance(root, yaml.MappingNode):
            top = self._mapping(root, _OF_ALL)
            nodes = top.pop("nodes", None)
            self._take_defaults(top)
        if not isinstance(nodes, yaml.SequenceNode):
            raise UsageError(f"{self._where(nodes or root)}: no list of nodes; write `nodes:` and a list below it")
        return tuple(self._machine(node) for node in nodes.value)

    def _where(self, node: yaml.Node) -> str:
        return f"{self._file}:{node.start_mark.line + 1}"

    def _mapping(self, node: yaml.MappingNode, known: Sequence[str]) -> dict[str, yaml.Node]:
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            word = key.value if isinstance(key, yaml.ScalarNode) else "?"
            if word in _SECRETS:
                raise UsageError(f"{self._where(key)}: {word}: {_NO_SECRETS}")
            if word not in known:
                near = difflib.get_close_matches(word, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
                raise UsageError(f"{self._where(key)}: unknown key {word!r}; {hint}")
            found[word] = value
        return found

    def _text(self, node: yaml.Node, what: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or not node.value:
            raise UsageError(f"{self._where(node)}: {what}: give one word")
        return str(node.value)

    def _take_defaults(self, top: Mapping[str, yaml.Node]) -> None:
        """What the file says for all; options of the command line win."""
        said: dict[str, Any] = {}
        for name in ("user", "key", "port"):
            if name in top and getattr(self._defaults, name) is None:
                text = self._text(top[name], name)
                said[name] = _port(text, self._where(top[name])) if name == "port" else text
        self._defaults = msgspec.structs.replace(self._defaults, **said)
        if "jump" in top:
            self._jump = self._jump_of(top["jump"])

    def _jump_of(self, node: yaml.Node) -> Login:
        return _login(self._text(node, "jump"), self._where(node), Defaults(key=self._defaults.key))

    def _machine(self, node: yaml.Node) -> Machine:
        where = self._where(node)
        if not isinstance(node, yaml.MappingNode):
            login = _login(self._text(node, "a node"), where, self._defaults)
            return Machine(login=login, where=where, jump=self._jump)
        said = self._mapping(node, _OF_ONE)
        if "address" not in said:
            raise UsageError(f"{where}: a node without `address`; say where it is")
        login = _login(self._text(said["address"], "address"), where, self._defaults)
        changes: dict[str, Any] = {name: self._text(said[name], name) for name in ("user", "key") if name in said}
        if "port" in said:
            changes["port"] = _port(self._text(said["port"], "port"), self._where(said["port"]))
        return Machine(
            login=msgspec.structs.replace(login, **changes),
            where=where,
            name=self._text(said["name"], "name") if "name" in said else None,
            jump=self._jump_of(said["jump"]) if "jump" in said else self._jump,
            roles=self._roles(said["roles"]) if "roles" in said else (),
        )

    def _roles(self, node: yaml.Node) -> tuple[str, ...]:
        if isinstance(node, yaml.SequenceNode):
            return tuple(self._text(each, "roles") for each in node.value)
        return (self._text(node, "roles"),)
