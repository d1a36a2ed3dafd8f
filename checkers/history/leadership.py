"""Who led what in which epoch, and who was in sync, as far as nodes said so.

Answers in which a node says the same are taken together first, so that a thousand subjects cost no more than their
changes.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from chaos.core.clock import NS_PER_S
from chaos.core.events import OBSERVE_PERIOD_S, Claim, Observation
from chaos.storage.history import NEVER_NS
from chaos.storage.runinfo import RunInfo

HEARD_NS: Final = 2 * round(OBSERVE_PERIOD_S * NS_PER_S)
"""What a node says is heard at most this much later: it is asked every period, and answers within another."""

DECIDED_NS: Final = 2 * NS_PER_S
"""So near to a leader's claim a controller's statement of its epoch must be for the claim to be of that epoch."""


class Reign(msgspec.Struct, frozen=True, kw_only=True):
    """A node said that it leads a subject: one stretch of one epoch (term for controllers).

    ``kind``: see ``Subject``. ``word``: what the node calls itself. It was heard from ``first_ns`` to ``last_ns``; the
    node's last answer before it is ``not_before_ns`` and the next one that says otherwise ``not_after_ns``.
    """

    subject: str
    kind: str
    node: str
    epoch: int
    word: str
    first_ns: int
    last_ns: int
    not_before_ns: int = -1
    not_after_ns: int = NEVER_NS

    def distance_ns(self, at_ns: int) -> int | None:
        """How far from an instant it was heard: 0 within it, None if too far, or if the node said otherwise between."""
        if self.first_ns <= at_ns <= self.last_ns:
            return 0
        if not self.not_before_ns < at_ns < self.not_after_ns:
            return None
        distance_ns = self.first_ns - at_ns if at_ns < self.first_ns else at_ns - self.last_ns
        return distance_ns if distance_ns <= HEARD_NS else None


class Stretch(msgspec.Struct, frozen=True):
    """A statement that stayed the same from its first to its last hearing."""

    first_ns: int
    last_ns: int
    said: Any


class InSync(msgspec.Struct, frozen=True, kw_only=True):
    """What one node said of a leader's SyncStateSet, unchanged from ``first_ns`` to ``last_ns``.

    ``first_ns`` is the end of the first answer and ``last_ns`` the question behind the last, so that what was
    said held all the time between. ``epoch`` is the speaker's: a leader's epoch, a controller's term.
    ``number`` is the SyncStateSet's own epoch.
    """

    subject: str
    node: str
    leader: str
    epoch: int
    members: tuple[str, ...]
    number: int
    first_ns: int
    last_ns: int


class Speech(msgspec.Struct, kw_only=True):
    """Answers of one node, one after the other, that say the same of its role and of leaders."""

    node: str
    role: str | None
    claims: tuple[Claim, ...] | None
    times_ns: list[int]
    asked_ns: int

    def led(self) -> Iterator[Claim]:
        """The claims of the node to lead itself."""
        return (claim for claim in self.claims or () if claim.leader == self.node)


Speeches = Mapping[str, list[Speech]]


def speeches_of(observations: Iterable[Observation]) -> dict[str, list[Speech]]:
    """Node → what it said, in order of time; a node that did not answer has changed nothing by that."""
    out: dict[str, list[Speech]] = {}
    for seen in observations:
        if not seen.alive:
            continue
        own = out.setdefault(seen.node, [])
        last = own[-1] if own else None
        if last is not None and last.role == seen.role and last.claims == seen.claims:
            last.times_ns.append(seen.time_ns)
            last.asked_ns = seen.asked_ns
        else:
            own.append(
                Speech(
                    node=seen.node,
                    role=seen.role,
                    claims=seen.claims,
                    times_ns=[seen.time_ns],
                    asked_ns=seen.asked_ns,
                )
            )
    return out


# ---------------------------------------------------------------- who led

_Decisions = Mapping[tuple[str, str], list[tuple[int, int]]]
"""(subject, leader) → (when a controller said so, the epoch that it decided), in order of time."""


def _decided_by(speech: Speech, run: RunInfo) -> tuple[int | None, list[Claim]] | None:
    """The term of a leading controller and what it says that it decided; None of anybody else."""
    own = next((claim for claim in speech.led() if run.kind_of(claim.subject) == "controller"), None)
    if own is None:
        return None
    others = (claim for claim in speech.claims or () if claim is not own)
    return own.epoch, [claim for claim in others if claim.leader is not None and claim.epoch is not None]


def _contested(speeches: Speeches, run: RunInfo) -> set[tuple[str, str]]:
    """The (subject, node) whose own word of its epoch may be of an earlier one than controllers decided."""
    lowest: dict[tuple[str, str], int] = {}
    highest: dict[tuple[str, str], int] = {}
    for own in speeches.values():
        for speech in own:
            for claim in speech.led():
                pair, epoch = (claim.subject, speech.node), claim.epoch
                lowest[pair] = min(lowest.get(pair, NEVER_NS), NEVER_NS if epoch is None else epoch)
            decided = _decided_by(speech, run)
            for claim in decided[1] if decided is not None else ():
                pair = (claim.subject, claim.leader or "")
                highest[pair] = max(highest.get(pair, 0), claim.epoch or 0)
    return {pair for pair, epoch in lowest.items() if highest.get(pair, 0) > epoch}


def _decisions(speeches: Speeches, run: RunInfo) -> _Decisions:
    """What controllers decided of those whose own word may be older.

    A controller of an earlier term than one already heard repeats what was decided before: that is no decision now.
    """
    contested = _contested(speeches, run)
    if not contested:
        return {}
    heard: list[tuple[int, int | None, list[Claim]]] = []  # also what is not contested: it shows terms
    for own in speeches.values():
        for speech in own:
            decided = _decided_by(speech, run)
            if decided is not None and decided[1]:
                mine = [claim for claim in decided[1] if (claim.subject, claim.leader) in contested]
                heard += [(at_ns, decided[0], mine) for at_ns in speech.times_ns]
    out: dict[tuple[str, str], list[tuple[int, int]]] = {}
    newest_term = 0
    for at_ns, term_said, claims in sorted(heard, key=lambda one: one[0]):
        term = newest_term if term_said is None else term_said
        newest_term = max(newest_term, term)
        if term == newest_term:
            for claim in claims:
                out.setdefault((claim.subject, claim.leader or ""), []).append((at_ns, claim.epoch or 0))
    return out


def _claimed_epoch(
    said: int | None, at_ns: int, decided: list[tuple[int, int]], before: tuple[int, int] | None
) -> int | None:
    """The epoch of a leader's claim (SEMANTICS 15): its own word, unless a controller decided a later one.

    Its own word may be of an epoch before: it is that of the newest part of its log. So while it repeats its word, what
    was decided of it once goes on to hold where no controller is heard.

    Args:
        said: its own word.
        at_ns: when.
        decided: what controllers decided of it.
        before: its last own word, and the epoch its claim then was of.
    """
    if said is None:
        return None
    known = before[1] if before is not None and before[0] <= said else said
    first, last = (bisect_left(decided, (at_ns + away_ns, 0)) for away_ns in (-DECIDED_NS, DECIDED_NS + 1))
    near = decided[first:last]
    for word in (known, said):
        if any(epoch == word for _, epoch in near):
            return word
    later = [(abs(decided_ns - at_ns), -epoch) for decided_ns, epoch in near if epoch > said]
    return -min(later)[1] if later else max(known, said)


def _led_epochs(speech: Speech, at_ns: int, decisions: _Decisions, words: dict[str, tuple[int, int]]) -> dict[str, int]:
    """Subject → the epoch in which the node says then that it leads it. Keeps ``words`` for the next time."""
    out: dict[str, int] = {}
    for claim in speech.led():
        decided = decisions.get((claim.subject, speech.node), [])
        epoch = _claimed_epoch(claim.epoch, at_ns, decided, words.get(claim.subject)) if decided else claim.epoch
        if claim.epoch is not None and epoch is not None and decided:
            words[claim.subject] = claim.epoch, epoch
        if epoch is not None and epoch >= 1:
            out[claim.subject] = epoch
    return out


def _moments(speech: Speech, decisions: _Decisions) -> Iterator[tuple[int, int]]:
    """From and to when a speech is looked at: as one, or answer by answer where controllers may know better."""
    if any((claim.subject, speech.node) in decisions for claim in speech.led()):
        yield from ((at_ns, at_ns) for at_ns in speech.times_ns)
    else:
        yield speech.times_ns[0], speech.times_ns[-1]


def _reigns_of_node(speeches: list[Speech], decisions: _Decisions, run: RunInfo) -> Iterator[Reign]:
    reigning: dict[str, Reign] = {}
    words: dict[str, tuple[int, int]] = {}
    before_ns = -1
    for speech in speeches:
        if speech.claims is None:
            continue
        for from_ns, to_ns in _moments(speech, decisions):
            leads = _led_epochs(speech, from_ns, decisions, words)
            for subject, reign in list(reigning.items()):
                if leads.get(subject) != reign.epoch:
                    yield msgspec.structs.replace(reigning.pop(subject), last_ns=before_ns, not_after_ns=from_ns)
            for subject, epoch in leads.items():
                if subject not in reigning:
                    reigning[subject] = Reign(
                        subject=subject,
                        kind=run.kind_of(subject),
                        node=speech.node,
                        epoch=epoch,
                        word=speech.role or "leader",
                        first_ns=from_ns,
                        last_ns=from_ns,
                        not_before_ns=before_ns,
                    )
            before_ns = to_ns
    yield from (msgspec.structs.replace(reign, last_ns=before_ns) for reign in reigning.values())


def reigns_of(speeches: Speeches, run: RunInfo) -> tuple[Reign, ...]:
    """Who led what, in order of time."""
    decisions = _decisions(speeches, run)
    found = (reign for own in speeches.values() for reign in _reigns_of_node(own, decisions, run))
    return tuple(sorted(found, key=lambda reign: (reign.first_ns, reign.node, reign.subject)))


# ---------------------------------------------------------------- what was said

LEADER: Final = "leader"
EPOCH: Final = "epoch"
MEMBERS: Final = "SyncStateSet"


def _add(stretches: list[Stretch], speech: Speech, said: Any) -> None:
    first_ns, last_ns = speech.times_ns[0], speech.times_ns[-1]
    if stretches and stretches[-1].said == said:
        stretches[-1] = Stretch(stretches[-1].first_ns, last_ns, said)
    else:
        stretches.append(Stretch(first_ns, last_ns, said))


def _said(claim: Claim, speech: Speech) -> Iterator[tuple[str, Any]]:
    """The statements of a claim that bear on stability."""
    if claim.leader is not None:
        yield LEADER, claim.leader
    if claim.members is not None:
        yield MEMBERS, tuple(sorted(claim.members))
    if claim.leader == speech.node and claim.epoch is not None:
        yield EPOCH, claim.epoch


Statements = dict[str, dict[str, dict[str, tuple[Stretch, ...]]]]
"""Subject → node → what (``LEADER``, ``EPOCH``, ``MEMBERS``) → stretches in order of time."""


def statements_of(speeches: Speeches, run: RunInfo) -> Statements:
    """What nodes said of the subjects that keep keys."""
    out: dict[str, dict[str, dict[str, list[Stretch]]]] = defaultdict(dict)
    for node, own in speeches.items():
        led: set[str] = set()
        for speech in own:
            if speech.claims is None:
                continue
            for claim in speech.claims:
                if run.kind_of(claim.subject) != "replica":
                    continue
                tracks = out[claim.subject].setdefault(node, defaultdict(list))
                for what, said in _said(claim, speech):
                    _add(tracks[what], speech, said)
            leads = {claim.subject for claim in speech.led()}
            for subject in led - leads - {claim.subject for claim in speech.claims}:
                if node in out.get(subject, ()):
                    _add(out[subject][node][LEADER], speech, None)
            led = leads
    return {
        subject: {node: {what: tuple(one) for what, one in tracks.items()} for node, tracks in nodes.items()}
        for subject, nodes in out.items()
    }


def words_of(speeches: Speeches, run: RunInfo) -> dict[str, tuple[Stretch, ...]]:
    """Replica → the stretches of its own word for what it is; said is (the word, whether it led anything)."""
    out = {}
    for node in run.replicas:
        stretches: list[Stretch] = []
        for speech in speeches.get(node, ()):
            if speech.role is not None:
                _add(stretches, speech, (speech.role, any(True for _ in speech.led())))
        out[node] = tuple(stretches)
    return out


# ---------------------------------------------------------------- who was in sync


def _speaks_in(claim: Claim, speech: Speech, run: RunInfo) -> int | None:
    """The epoch in which a node says something of a subject: of what it leads itself, this subject before others."""
    own = list(speech.led())
    for one in own:
        if one.subject == claim.subject:
            return one.epoch
    return next((one.epoch for one in own if run.kind_of(one.subject) == "controller"), None)


def _sets_in(speech: Speech, run: RunInfo) -> Iterator[InSync]:
    for claim in speech.claims or ():
        epoch = _speaks_in(claim, speech, run) if claim.members is not None else None
        if claim.leader is not None and claim.members is not None and epoch is not None:
            yield InSync(
                subject=claim.subject,
                node=speech.node,
                leader=claim.leader,
                epoch=epoch,
                members=tuple(sorted(claim.members)),
                number=-1 if claim.members_epoch is None else claim.members_epoch,
                first_ns=speech.times_ns[0],
                last_ns=speech.asked_ns,
            )


def _same_set(left: InSync, right: InSync) -> bool:
    return (left.leader, left.epoch, left.number, left.members) == (
        right.leader,
        right.epoch,
        right.number,
        right.members,
    )


def in_sync_of(speeches: Speeches, run: RunInfo) -> tuple[InSync, ...]:
    """The stretches of unchanging numbered sets, by speaker and time."""
    done: list[InSync] = []
    for own in speeches.values():
        known: dict[str, InSync] = {}
        for speech in own:
            now: dict[str, InSync] = {}
            for said in _sets_in(speech, run):
                last = known.get(said.subject)
                if last is not None and _same_set(last, said):
                    now[said.subject] = msgspec.structs.replace(last, last_ns=said.last_ns)
                elif said.number >= 0:
                    now[said.subject] = said
            done += [
                one for subject, one in known.items() if subject not in now or now[subject].first_ns != one.first_ns
            ]
            known = now
        done += known.values()
    return tuple(sorted(done, key=lambda one: (one.node, one.first_ns, one.subject)))
