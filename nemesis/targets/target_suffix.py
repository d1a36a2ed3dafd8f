"""What follows the ``@`` in a nemesis' name: roles, or the subjects whose leaders are meant. Pure.

``leader-kill@broker`` hits the leader of one subject that brokers lead, drawn for each row; ``leader-kill@partition-3``
that of the named subject; ``leader-kill@all`` those of all subjects that keep keys.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final, NamedTuple

from chaos.basics.rand import stream
from chaos.core.errors import UsageError
from nemesis.targets.topology import REPLICA, Topology

EVERY: Final = "all"
"""Stands for all subjects that keep keys."""

NAMED: Final = 8
"""A message names at most so many subjects."""


class Whom(NamedTuple):
    """Roles in the topology's order, or names of subjects, ``EVERY`` among them; both empty: not said."""

    roles: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """As it stands behind a name: ``@broker+controller``; empty if nothing was said."""
        words = self.roles or self.subjects
        return f"@{'+'.join(words)}" if words else ""


def read_suffix(text: str, suffix: str | None, topology: Topology, *, leads: bool) -> Whom:
    """Read a suffix.

    Args:
        text: the whole name, for messages.
        suffix: what stands behind ``@``; None without one.
        topology: whose roles and subjects may be named.
        leads: whether the name means leaders, so that subjects may be named.

    Raises:
        UsageError: a word that means nothing here, with a guess; one that is there twice; roles and subjects mixed.
    """
    words = [] if suffix is None else suffix.split("+")
    roles = topology.targeted_roles()
    subjects = (*topology.subjects, EVERY) if leads and topology.subjects else ()
    for word in words:
        if word not in roles and word not in subjects:
            what = "role or subject" if subjects else "role"
            raise UsageError(
                f"--nemesis {text}: no {what} {word!r} here that a fault may hit{_guess(word, (*roles, *subjects))};"
                f" roles: {', '.join(roles) or 'none'}{_subjects_words(subjects)}"
            )
    if len(set(words)) < len(words):
        raise UsageError(f"--nemesis {text}: {next(word for word in words if words.count(word) > 1)} is named twice")
    named = tuple(word for word in words if word not in roles)
    if named and len(named) < len(words):
        raise UsageError(f"--nemesis {text}: name roles or subjects, not both")
    if EVERY in named and len(named) > 1:
        raise UsageError(f"--nemesis {text}: all is every subject, name it alone")
    return Whom(subjects=named) if named else Whom(roles=tuple(role for role in roles if role in words))


def led_subjects(whom: Whom, roles: Sequence[str], topology: Topology, seed: int, row: int) -> tuple[str, ...]:
    """The subjects whose leaders a row hits: those that were named, else one drawn for each role."""
    if EVERY in whom.subjects:
        return tuple(name for name, subject in topology.subjects.items() if subject.kind == REPLICA)
    if whom.subjects:
        return whom.subjects
    out = []
    for role in roles:
        led = topology.led_by(role)
        if led:
            out.append(led[int(stream(seed, "plan", row, f"leader of {role}").random() * len(led))])
    return tuple(out)


def roles_of(subjects: Sequence[str], topology: Topology) -> tuple[str, ...]:
    """The roles whose nodes may lead subjects that were named."""
    named = led_subjects(Whom(subjects=tuple(subjects)), (), topology, 0, 0)
    return tuple(dict.fromkeys(role for name in named for role in topology.leading_roles(name)))


def nodes_of(subject: str, roles: Sequence[str], topology: Topology) -> tuple[str, ...]:
    """The nodes of these roles that may lead a subject."""
    own = topology.subjects[subject].nodes if subject in topology.subjects else ()
    leading = [role for role in topology.leading_roles(subject) if role in roles]
    return tuple(name for role in leading for name in topology.nodes[role] if not own or name in own)


def of_replicas(subjects: Sequence[str], topology: Topology) -> bool:
    """Whether subjects whose leaders are hit keep keys; also if none is named, since a role's are meant then."""
    kinds = {topology.subjects[name].kind for name in subjects if name in topology.subjects}
    return not kinds or REPLICA in kinds


def _subjects_words(subjects: Sequence[str]) -> str:
    """``; subjects: brokers, all``, of many the first ones."""
    if not subjects:
        return ""
    more = f" and {len(subjects) - NAMED} more" if len(subjects) > NAMED else ""
    return f"; subjects: {', '.join(subjects[:NAMED])}{more}"


def _guess(word: str, known: Sequence[str]) -> str:
    near = get_close_matches(word, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else ""
