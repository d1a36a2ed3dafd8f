"""Whether the operations of a report fit one sequence of changes, each at the revision that its client was told."""

from typing import Final, NamedTuple

from chaos.formats.etcd_robustness import Did, EtcdReport
from chaos.formats.etcd_text import request_text, word_of
from chaos.formats.missing import UNDONE, Missing, Stands
from checkers.objects.rules import Budget
from checkers.revisions.compactions import wrong_compactions
from checkers.revisions.pinned import Pinned, changes_of
from checkers.revisions.search import Search, Wrong
from checkers.revisions.shared import Shared
from checkers.revisions.space import Changes

KINDS: Final = (
    "kv-wrong-read",
    "kv-wrong-answer",
    "kv-revision-twice",
    "kv-revision-skipped",
    "kv-stale-read",
    "kv-revision-reordered",
)
STANDS: Final[Stands] = {
    "kv-wrong-read": UNDONE,  # what is missing may have written what was read
    "kv-wrong-answer": UNDONE,
    "kv-revision-twice": Missing.ANY,
    "kv-revision-skipped": UNDONE,
    "kv-stale-read": Missing.ANY,
    "kv-revision-reordered": Missing.ANY,
}
"""What may be missing of a report for an anomaly to stand: revisions that were told stay what they are."""

NOT_EMPTY: Final = "nobody was answered at revision 1, or changed it to 2: what was in the store before is not known"
_FAR: Final = 1_000_000
"""More revisions without a change than this are not looked at one by one."""


class Shown(NamedTuple):
    """An occurrence of an anomaly: a sentence, and the operations that show it, the guilty one first."""

    kind: str
    sentence: str
    did: tuple[Did, ...]


class Verdict(NamedTuple):
    """What was found in the operations, why more is not known, and the replay (None: there was none)."""

    pinned: Pinned
    found: list[Shown]
    reason: str
    replay: Search | None

    @property
    def changes(self) -> Changes | None:
        """What became of the keys, where that is known for certain."""
        return None if self.found or self.reason or self.replay is None else self.replay.changes


def judge_operations(report: EtcdReport, budget: Budget, *, shared: bool = False) -> Verdict:
    """What is wrong with the operations of all clients.

    Args:
        report: what they did.
        budget: of a search.
        shared: whether others change the store as well, so that a revision may be nobody's. Then nothing is searched.
    """
    pinned = Pinned(report)
    found = [*_too_late(pinned), *_twice(pinned), *_ahead(pinned)]
    if shared:
        found += [_shown(pinned, one) for one in Shared(pinned).run()]
        return Verdict(pinned, found, "", None)
    if not pinned.found_empty:
        return Verdict(pinned, found, NOT_EMPTY, None)
    explained = len(pinned.writes) + len(pinned.open) + len(pinned.facts)
    if pinned.last > explained + _FAR:
        said = f"revision {pinned.last} was told, and {explained} changes at most were asked for"
        return Verdict(pinned, [*found, Shown("kv-revision-skipped", said, ())], "", None)
    search = Search(pinned, budget)
    search.run()
    wrongs = [*search.wrong, *wrong_compactions(pinned)]
    found += [_shown(pinned, one) for one in wrongs]
    reason = f"the search for the places of {len(pinned.open)} changes of unknown outcome gave up: {search.gave_up}"
    return Verdict(pinned, found, reason if search.gave_up else "", search)


def text(did: Did) -> str:
    """An operation in words: ``put a=1 (op 17, client 2)``."""
    return f"{word_of(did.request)} {request_text(did.request)} (op {did.number}, client {did.client})"


def _too_late(pinned: Pinned) -> list[Shown]:
    found = []
    for one in pinned.slow():
        own = one.did.response.revision
        writes = changes_of(one.did)
        kind = "kv-stale-read" if one.did.request.reads else "kv-revision-reordered"
        verb = "took place" if writes else "was answered"
        said = (
            f"{text(one.did)} {verb} at revision {own}, though {text(one.earlier)} had returned at {one.reached} before"
        )
        found.append(Shown(kind, said, (one.did, one.earlier)))
    return found


def _twice(pinned: Pinned) -> list[Shown]:
    return [
        Shown(
            "kv-revision-twice",
            f"{text(again)} and {text(first)} both changed something at revision {first.response.revision}",
            (again, first),
        )
        for again, first in pinned.twice
    ]


def _ahead(pinned: Pinned) -> list[Shown]:
    told = ((did, f"{text(did)} was answered at revision {did.response.revision}") for did in pinned.ahead())
    return [Shown("kv-wrong-read", f"{said}, before the one that it asked for", (did,)) for did, said in told]


def _shown(pinned: Pinned, wrong: Wrong) -> Shown:
    """A conflict with the operations that made the revisions which it names."""
    beside = [pinned.writes[at] for at in dict.fromkeys(wrong.related) if at in pinned.writes]
    if wrong.did is None:
        after = [did for did in pinned.with_revision if did.response.revision >= wrong.revision]
        return Shown(wrong.kind, wrong.said, tuple(after[:1]))
    at = f" at revision {wrong.did.response.revision}" if wrong.did.response.revision > 0 else ""
    sentence = f"{text(wrong.did)}{at}: {wrong.said}"
    return Shown(wrong.kind, sentence, (wrong.did, *(one for one in beside if one is not wrong.did)))
