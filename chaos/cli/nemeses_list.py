"""What ``chaos list nemeses`` prints for people: how a name is made, then each fault on a line of its own.

Pure, but for ``unavailable_faults``, which tries the machine.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.inspect import IntType

from nemesis.faults.admin.admin_fault import action_of
from nemesis.faults.fault import Fault
from nemesis.faults.params import Param, params_of, words_range
from nemesis.plan.nemesis_names import MANY, NOOP, catalog, help_lines
from nemesis.targets.selectors import WHOM
from reports.summary.text_style import PIPED, TextStyle

EXAMPLES: Final = (
    ("leader-kill", "the leader of one replica group or partition, drawn for each fault"),
    ("leader-kill@all", "the leaders of all of them at once"),
    ("minor-partition@controller", "fewer than half of the controllers"),
    ("random-loss:probability=0.5@broker", "half of the packets of some brokers"),
    ("random-delay:delay_ms=200,jitter_ms=0", "several parameters"),
    ("leader-syscall-error:call=write+fsync,errno=ENOSPC", "words; + joins those of one parameter"),
    ("leader-kill,random-loss,major-suspend", "several nemeses, mixed"),
)
"""Names as they are typed, and what each shows; the roles and subjects are those of the system."""

_HEAD: Final = """\
A nemesis is WHOM-FAULT[:PARAM=VALUE[,PARAM=VALUE]][@ROLE[+ROLE]]. Commas join several.
"""


def unavailable_faults() -> dict[str, str]:
    """The faults that hosts in namespaces on this machine cannot do, and why; half a second, it is tried."""
    from nemesis.faults.registry import faults
    from nemesis.plan.capabilities import missing_here

    return missing_here(faults(), {}, here=True)


def lines(
    faults: Mapping[str, type[Fault]], lacking: Mapping[str, str], broken: Mapping[str, str], style: TextStyle = PIPED
) -> Iterator[str]:
    """The lines.

    Args:
        faults: every fault by name.
        lacking: why this machine cannot do a fault, by its name.
        broken: why a fault does not load, by its name.
        style: of the stream that they are for.
    """
    yield from (*style.fit(_HEAD.rstrip()), "")
    yield "WHOM"
    yield from _table([(selector.value, said) for selector, said in WHOM.items()], style)
    yield "\nExamples"
    yield from _table(EXAMPLES, style)
    yield "\nNames of their own"
    yield from _table(_own_names(), style)
    yield "\nFAULT, and each PARAM=DEFAULT with what it may be"
    reasons = list(dict.fromkeys(lacking[name] for name in faults if name in lacking))
    notes = {name: f" NOT HERE ({reasons.index(why) + 1})" for name, why in lacking.items() if name in faults}
    rows = [(name, _told(fault) + notes.get(name, "")) for name, fault in faults.items()]
    yield from _table([*rows, *broken.items()], style)
    if reasons:
        yield "\nNOT HERE: tried on this machine, with hosts in namespaces"
        for number, why in enumerate(reasons, 1):
            yield from style.hang(f"  ({number}) ", why)


def _table(rows: Sequence[tuple[str, str]], style: TextStyle) -> Iterator[str]:
    width = max((len(name) for name, _ in rows), default=0)
    return (line for name, said in rows for line in style.hang(f"  {name:<{width}}  ", said))


def _own_names() -> list[tuple[str, str]]:
    """The nemeses whose name is not WHOM-FAULT."""
    made = {f"{selector.value}-{entry.fault}" for selector in WHOM for entry in catalog().values()}
    return [(name, said) for name, said in help_lines() if name in (NOOP, *MANY) or name not in made]


def _told(fault: type[Fault]) -> str:
    """What it does, whom it can hit unless that is anybody, what the system must offer, and its parameters."""
    whom = [selector.value for selector in WHOM if f"{selector.value}-{fault.name}" in catalog()]
    parts = [fault.help.format("the targets")]
    if len(whom) < len(WHOM):
        parts.append(f"WHOM is {' or '.join(whom)}" if whom else "without WHOM")
    if action := action_of(fault):
        parts.append(f"the system's admin interface must offer {action}")
    parts += [f"{one.name}={_default(one)} ({bounds(one)})" for one in params_of(fault.Params)]
    return "; ".join(parts)


def bounds(one: Param) -> str:
    """What a parameter may be: ``from 0 to 1``, ``above 0 up to 1``, ``whole, from 1 to 1000``, ``link or node``."""
    if one.pattern:
        return one.range
    both = (_bounds(one.number) if one.number is not None else "", words_range(one.words, several=one.several))
    return ", or ".join(filter(None, both))


def _bounds(field: Any) -> str:
    to = "to" if field.ge is not None else "up to"
    limits = (("above", field.gt), ("from", field.ge), ("below", field.lt), (to, field.le))
    span = " ".join(f"{word} {_number(limit)}" for word, limit in limits if limit is not None) or "any number"
    return f"whole, {span}" if isinstance(field, IntType) else span


def _default(one: Param) -> str:
    return one.typed_default if isinstance(one.default, str | tuple) else _number(one.default)


def _number(value: float) -> str:
    """A number without exponent: ``1000000``, ``0.5``."""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:g}"
