"""Takes what is private of a machine out of texts: where files lie, what hosts are called, secrets. Pure.

Texts of systems under test go through it as well, so what it takes out is told by its shape, not only by its name.
"""

import ipaddress
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from chaos.storage.runinfo import RunInfo

GONE: Final = "…"
_PART = r"[\w.@+~-]+"
_PATH: Final = re.compile(rf"(?:(?<![\w./~-])|(?<=file://))(?:~(?:/{_PART})+|/{_PART}(?:/{_PART})+)")
_ADDRESS: Final = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\w)")
_OURS: Final = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("198.18.0.0/15"))
"""Addresses that say nothing: every machine has the first, and the hosts of namespaces have the second everywhere."""
_SECRET: Final = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|(?:^|_)KEY$|API_?KEY", re.IGNORECASE)
_SHORTEST_SECRET: Final = 8
_SHORTEST_NAME: Final = 2

_Shape = TypeVar("_Shape")


class Private(msgspec.Struct, frozen=True, kw_only=True):
    """What is known to be private. ``literals``: text → what stands for it; ``hosts``: names of this machine."""

    literals: Mapping[str, str] = {}
    hosts: frozenset[str] = frozenset()


def private_of(places: Mapping[str, str], hosts: Iterable[str], environ: Mapping[str, str]) -> Private:
    """What is private on a machine.

    Args:
        places: absolute path → what stands for it.
        hosts: what this machine is called.
        environ: its environment, of which secrets are looked for by the names of variables.
    """
    secrets = {
        value: GONE for name, value in environ.items() if _SECRET.search(name) and len(value) >= _SHORTEST_SECRET
    }
    known = {path: word for path, word in places.items() if len(path) > 1}
    longest_first = sorted({**known, **secrets}.items(), key=lambda pair: -len(pair[0]))
    named = frozenset(name for host in hosts for name in (host, host.partition(".")[0]) if len(name) >= _SHORTEST_NAME)
    return Private(literals=dict(longest_first), hosts=named - {"localhost"})


class Redactor:
    """Takes private things out of what is said of one run, or of a matrix.

    Args:
        private: what is known of the machine.
        run: its addresses become the names of its nodes; its own words are never taken for names of machines.
    """

    def __init__(self, private: Private, run: RunInfo | None = None) -> None:
        self._literals = private.literals
        nodes = run.nodes if run is not None else ()
        own = {word for node in nodes for word in (node.name, node.role)}
        own |= {run.system, run.workload, run.backend, run.model, run.status} if run is not None else set()
        names = dict.fromkeys(private.hosts - own, "host")
        names |= {node.address: node.name for node in nodes if node.address and not is_ours(node.address)}
        longest_first = sorted(names, key=len, reverse=True)
        self._names = names
        joined = "|".join(map(re.escape, longest_first))
        self._named = re.compile(rf"(?<![\w.-])(?:{joined})(?![\w-])") if joined else None

    def text(self, text: str) -> str:
        """A text without what is private."""
        for literal, word in self._literals.items():
            text = text.replace(literal, word)
        text = _PATH.sub(lambda match: f"{GONE}/{match[0].rpartition('/')[2]}", text)
        if self._named is not None:
            text = self._named.sub(lambda match: self._names[match[0]], text)
        return _ADDRESS.sub(lambda match: match[0] if is_ours(match[0]) else GONE, text)

    def value(self, value: Any) -> Any:
        """A JSON value whose texts are without it; names of members stay."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {name: self.value(inner) for name, inner in value.items()}
        return [self.value(inner) for inner in value] if isinstance(value, list | tuple) else value

    def struct(self, one: _Shape) -> _Shape:
        """A struct likewise."""
        return msgspec.convert(self.value(msgspec.to_builtins(one)), type(one))


def is_ours(address: str) -> bool:
    """Whether an address says nothing of a machine; what is no address may."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return bool(_ADDRESS.fullmatch(address))  # 300.1.1.1 is none
    return found.is_unspecified or any(found in network for network in _OURS)
