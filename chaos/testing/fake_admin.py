"""The admin interface of the fake system: what an administrator asks is done in memory, and to files of its nodes."""

import hashlib
import secrets
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

from chaos.core.errors import DeployError
from chaos.core.events import Claim
from cluster.admin import (
    CHANGE_MEMBERS,
    CHANGE_SETTING,
    CHANGE_VERSION,
    COMPACT,
    DEFRAGMENT,
    SNAPSHOT,
    TRANSFER_LEADERSHIP,
)
from cluster.nodes.process import PID_FILE
from cluster.system import Launch

DATA: Final = "data"
DATABASE: Final = f"{DATA}/database"
"""The file in a node's home that is written anew by ``defragment``; nothing reads it."""
ACTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        TRANSFER_LEADERSHIP: "a word in memory",
        COMPACT: "a number in memory",
        DEFRAGMENT: "another file",
        SNAPSHOT: "a file",
        CHANGE_MEMBERS: "a table in memory",
        CHANGE_SETTING: "another environment",
        CHANGE_VERSION: "another environment",
    }
)
"""The actions of a fake that has a leader."""
SETTING: Final = "node.label"
"""Its one setting: a word that its nodes are started with."""
IN_ENVIRONMENT: Final = MappingProxyType({SETTING: "FAKE_LABEL", "version": "FAKE_VERSION"})
"""The variables in which a node's process has the setting and its version."""


class Administered(Protocol):
    """The fake system, as far as its administrator knows it."""

    names: tuple[str, ...]
    operations_done: int

    def state(self, node: str) -> str:
        """How a node is: ``serves`` or something else."""
        ...

    def claims(self) -> tuple[Claim, ...]:
        """Who leads."""
        ...

    def lead(self, node: str) -> None:
        """Let a node lead."""
        ...


class FakeAdmin:
    """Acts on one fake system. Implements the protocol of each action in ``cluster.admin``."""

    database = DATABASE

    def __init__(self, system: Administered, homes: Mapping[str, Path]) -> None:
        self._system = system
        self._homes = homes
        self._oldest = 0
        self._numbers = {name: str(number) for number, name in enumerate(system.names, 1)}
        self._next_number = len(system.names) + 1

    def voters(self, subject: str) -> tuple[str, ...]:  # noqa: ARG002 - there is one group
        """All nodes."""
        return self._system.names

    def leaders(self, subject: str) -> Mapping[str, str | None]:  # noqa: ARG002
        """What the nodes say whose processes run."""
        serving = [name for name in self._system.names if self.answers(name)]
        leader = next((claim.leader for claim in self._system.claims()), None)
        return dict.fromkeys(serving, leader)

    def transfer_leadership(self, subject: str, to: str) -> None:  # noqa: ARG002
        """Another node leads. Raises DeployError if its process does not run."""
        self._must_serve(to)
        self._system.lead(to)

    def revision(self) -> int:
        """How many operations were done."""
        return self._system.operations_done

    def compact(self, revision: int) -> None:
        """Forget."""
        self._oldest = max(self._oldest, revision)

    def has_revision(self, node: str, revision: int) -> bool:
        """Whether it was not forgotten."""
        self._must_serve(node)
        return revision == 0 or revision >= self._oldest

    def defragment(self, node: str) -> None:
        """Put another file in the place of the database."""
        self._must_serve(node)
        new = self._homes[node] / f"{DATABASE}.new"
        new.write_bytes(b"defragmented")
        new.rename(self._homes[node] / DATABASE)

    def answers(self, node: str) -> bool:
        """Whether its process runs."""
        return self._system.state(node) == "serves"

    def save_snapshot(self, node: str, file: str) -> None:
        """Some bytes and their digest."""
        self._must_serve(node)
        data = secrets.token_bytes(100)
        Path(file).write_bytes(data + hashlib.sha256(data).digest())

    def snapshot_bytes(self, file: str) -> int | None:
        """How long a whole one is."""
        if not Path(file).exists():
            return None
        content = Path(file).read_bytes()
        return len(content) if hashlib.sha256(content[:-32]).digest() == content[-32:] else None

    def members(self, node: str) -> Mapping[str, str]:
        """The table."""
        self._must_serve(node)
        return dict(self._numbers)

    def remove_member(self, node: str) -> None:
        """Out of the table. Raises DeployError if it is not in it."""
        if self._numbers.pop(node, None) is None:
            raise DeployError(f"{node} is no member")

    def add_member(self, node: str) -> None:
        """Into the table, under a new number."""
        self._numbers[node] = str(self._next_number)
        self._next_number += 1

    def joining(self, node: str, launch: Launch, members: Collection[str]) -> Launch:  # noqa: ARG002
        """Like any other."""
        return launch

    def position(self, node: str) -> int:
        """All share one memory."""
        self._must_serve(node)
        return self._system.operations_done

    def settings_of(self, node: str) -> Mapping[str, str]:
        """The setting that its process was started with."""
        return {SETTING: self._variable(node, SETTING)}

    def version_of(self, node: str) -> str:
        """The version that its process was started as."""
        return self._variable(node, "version")

    def _variable(self, node: str, name: str) -> str:
        self._must_serve(node)
        pid = (self._homes[node] / PID_FILE).read_text().split()[0]
        variables = Path(f"/proc/{pid}/environ").read_text().split("\0")
        mark = f"{IN_ENVIRONMENT[name]}="
        return next(one.removeprefix(mark) for one in variables if one.startswith(mark))

    def _must_serve(self, node: str) -> None:
        if not self.answers(node):
            raise DeployError(f"{node} does not answer")
