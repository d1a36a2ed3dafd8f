"""The names people type: each is whom times how, made of the faults that there are.

A name is ``SELECTOR-FAULT`` or one of a few of their own, as in OpenChaos, with optional parameters
(``:probability=0.5``, ``:call=write+fsync``) and an optional ``@role`` or ``@role+role``. ``noop`` plans nothing;
``all`` and lists of names are ``nemesis.plan.mix``'s business. Does not choose and does not act.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final

import msgspec

from chaos import plugins
from chaos.core.errors import UsageError
from nemesis.faults import params
from nemesis.faults.fault import Fault
from nemesis.faults.registry import broken_faults, fault_named, faults
from nemesis.targets.selectors import LED, WHOM, Selector
from nemesis.targets.target_suffix import read_suffix
from nemesis.targets.topology import Topology

NOOP: Final = "noop"
ALL: Final = "all"
SWARM: Final = "swarm"
MANY: Final[Mapping[str, str]] = MappingProxyType(
    {ALL: "every fault of the usual mix on every role", SWARM: "some of all faults on some roles"}
)
"""The words that stand for many names."""
_NONE: Final[tuple[tuple[str, Any], ...]] = ()


class Entry(msgspec.Struct, frozen=True):
    """One nemesis: whom, how (the name of a fault), and a line of help. ``noop`` has neither."""

    name: str
    selector: Selector | None
    fault: str | None
    help: str

    @property
    def how(self) -> type[Fault]:
        """Its fault; not of ``noop``."""
        assert self.fault is not None, "noop is no fault"
        return fault_named(self.fault)


def _table() -> dict[str, Entry]:
    rows = [Entry(NOOP, None, None, "no fault: the baseline")]
    for name, fault in faults().items():
        rows += [
            Entry(f"{selector}-{name}", selector, name, fault.help.format(WHOM[selector]))
            for selector in fault.selectors
        ]
        rows += [Entry(shape.name, shape.selector, name, shape.help) for shape in fault.shapes]
    return {row.name: row for row in rows}


@plugins.cache_by_plugins
def catalog() -> Mapping[str, Entry]:
    """Every nemesis by name, in the order in which ``chaos list nemeses`` shows them."""
    return MappingProxyType(_table())


class Choice(msgspec.Struct, frozen=True):
    """A nemesis as asked for: its row in the catalog, whom its suffix named, and the parameters.

    ``roles`` and ``subjects`` may be empty; one of them is. ``params``: name and value of every parameter, those of the
    fault's defaults as well.
    """

    text: str
    entry: Entry
    roles: tuple[str, ...]
    subjects: tuple[str, ...] = ()
    params: tuple[tuple[str, Any], ...] = ()


def parts(text: str) -> tuple[str, str, str | None]:
    """Name, parameters and suffix of ``NAME[:PARAM=VALUE[,…]][@SUFFIX]``; the suffix is None without an ``@``."""
    before, at, suffix = text.strip().partition("@")
    name, _, given = before.partition(":")
    return name.strip(), given.strip(), suffix if at else None


def words(text: str) -> list[str]:
    """The nemeses of ``NAME,NAME:a=1,b=2@role,…``; a comma also parts the parameters of one."""
    out: list[str] = []
    for word in text.split(","):
        head = word.partition(":")[0].partition("@")[0]
        if out and "=" in head and ":" in out[-1]:
            out[-1] += f",{word.strip()}"
        else:
            out.append(word.strip())
    return out


def parse(text: str, topology: Topology) -> Choice:
    """Read ``NAME[:PARAM=VALUE[,…]][@role[+role]]``; of leaders also ``@subject[+subject]`` and ``@all``.

    Raises:
        UsageError: an unknown name, role or parameter, with a guess at what was meant; a role named twice; a value out
            of its bounds.
    """
    name, given, suffix = parts(text)
    entry = catalog().get(name)
    if entry is None:
        lame = next((f"; {fault}: {why}" for fault, why in broken_faults().items() if name.endswith(f"-{fault}")), "")
        meant = lame or _guess(name, [*catalog(), *MANY])
        raise UsageError(f"--nemesis {text}: no nemesis {name!r}{meant}; see chaos list nemeses")
    whom = read_suffix(text, suffix, topology, leads=entry.selector in LED)
    if (suffix is not None or given) and entry.fault is None:
        left_out = f"@{suffix}" if suffix is not None else f":{given}"
        raise UsageError(f"--nemesis {text}: {name} hits nobody, leave {left_out} out")
    said, values = "", _NONE
    if entry.fault is not None:
        said, values = _params(text, given, entry.how)
    return Choice(f"{name}{said}{whom.text}", entry, whom.roles, whom.subjects, values)


def _params(text: str, given: str, fault: type[Fault]) -> tuple[str, tuple[tuple[str, Any], ...]]:
    """What was given, in the fault's order, as it is written; and the value of every parameter."""
    try:
        asked = params.split(given)
        params.check_given(fault.Params, asked)
        values = params.plain(params.read(fault.Params, asked))
    except UsageError as error:
        raise UsageError(f"--nemesis {text}: {error}") from None
    said = ",".join(f"{name}={values[name]}" for name in values if name in asked)
    return f":{said}" if said else "", tuple(values.items())


def params_named(text: str) -> dict[str, params.Param]:
    """The parameters of a nemesis by name; none of one that there is not, and of ``noop``."""
    entry = catalog().get(parts(text)[0])
    known = params.params_of(entry.how.Params) if entry is not None and entry.fault is not None else ()
    return {one.name: one for one in known}


def help_lines() -> list[tuple[str, str]]:
    """Every nemesis with its line of help, in the catalog's order, and the words that stand for many."""
    everything = (ALL, "a mix of every fault available here, on brokers, on controllers and on all")
    few = (SWARM, "a mix of a few faults that are drawn for the run, out of all that sound systems survive")
    return [*((entry.name, entry.help + _params_help(entry)) for entry in catalog().values()), everything, few]


def _params_help(entry: Entry) -> str:
    """``; probability=0.8: a number from 0 and up to 1``, ``; by=link: link or node``."""
    if entry.fault is None:
        return ""
    known = params.params_of(entry.how.Params)
    return "".join(f"; {one.name}={one.typed_default}: {one.range}" for one in known)


def _guess(word: str, known: Sequence[str]) -> str:
    near = get_close_matches(word, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else ""
