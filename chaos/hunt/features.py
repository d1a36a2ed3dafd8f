"""What was seen of a run, as short words: a run that shows a word for the first time is worth changing a little.

Roles and epochs of each subject, the faults in force when a leader changed, classes of errors, how far replicas were
apart, and the lines of the nodes' own logs without their numbers, each of which stands for a place in their code. The
idea is that of Meng et al., "Greybox Fuzzing of Distributed Systems" (Mallory), CCS 2023, without instrumentation.
"""

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from chaos.core.clock import NS_PER_S
from chaos.core.errors import HistoryError
from chaos.core.events import Observation
from chaos.core.verdict import FaultResult, Results
from chaos.storage.event_files import read_events
from chaos.storage.manifest import read_checked

BROKEN: Final = "broken "
"""How the features begin that say that an invariant was broken: no client need have seen it yet."""
FEATURES_MOST: Final = 2000
LINES_MOST: Final = 20_000
_AFTERMATH_NS: Final = 3 * NS_PER_S
_LINE_MOST: Final = 160
_NUMBERS: Final = re.compile(r"0x[0-9a-fA-F]+|[0-9a-fA-F]{8,}|\d+")
_OBSERVED: Final = "observer.events"


def features_of(folder: Path) -> tuple[str, ...]:
    """The features of a judged run, sorted, ``FEATURES_MOST`` at most; none if it cannot be read."""
    with suppress(HistoryError, OSError):
        results = read_checked(folder / "results.json", Results)
        if results is None:
            return ()
        events = read_events(folder / "history" / _OBSERVED)
        seen = [one for one in events if isinstance(one, Observation)]
        found = {*of_results(results), *of_observations(seen, results.faults), *of_logs(folder / "nodes")}
        return tuple(sorted(found)[:FEATURES_MOST])
    return ()


def of_invariants(broken: Iterable[str]) -> Iterator[str]:
    """What did not hold of a simulated system, as its invariants say."""
    for sentence in broken:
        yield f"{BROKEN}{normalise(sentence)}"


def bucket(number: int) -> int:
    """0, 1, 2, 4, 8, …: the greatest of these that is not above a number."""
    return 1 << (number.bit_length() - 1) if number > 0 else 0


def faults_around(faults: Sequence[FaultResult], at_ns: int) -> str:
    """The kinds of fault in force at a time, and those that were healed a moment before, each with ``after-``."""
    kinds = set()
    for fault in faults:
        kind = fault.identity.kind if fault.identity is not None else fault.name
        if fault.inject_ns is None or fault.inject_ns > at_ns:
            continue
        if fault.healed_ns is None or at_ns <= fault.healed_ns:
            kinds.add(kind)
        elif at_ns <= fault.healed_ns + _AFTERMATH_NS:
            kinds.add(f"after-{kind}")
    return "+".join(sorted(kinds)) or "healthy"


def of_results(results: Results) -> Iterator[str]:
    """Changes of leaders with what was in force, how many there were, and errors by the fault that they fell into."""
    changes: dict[str, int] = {}
    kinds = {fault.id: fault.identity.kind if fault.identity is not None else fault.name for fault in results.faults}
    for one in results.failovers:
        changes[one.subject] = changes.get(one.subject, 0) + 1
        yield f"change {one.subject} {faults_around(results.faults, one.at_ns)}"
    for subject, number in changes.items():
        yield f"changes {subject} {bucket(number)}"
    for error in results.errors:
        during = kinds.get(error.fault, "healthy") if error.fault is not None else "healthy"
        yield f"error {error.type} {_NUMBERS.sub('#', error.error)} {during}"


def of_observations(seen: Iterable[Observation], faults: Sequence[FaultResult]) -> Iterator[str]:
    """Who leads at the same time, epochs, sizes of the sets in sync, and how far replicas are apart."""
    leading: dict[str, set[str]] = {}
    offsets: dict[str, dict[str, int]] = {}
    for one in seen:
        during = faults_around(faults, one.time_ns)
        for claim in one.claims or ():
            leaders = leading.setdefault(claim.subject, set())
            if claim.leader == one.node:
                leaders.add(one.node)
                if len(leaders) > 1:
                    yield f"leaders {claim.subject} {len(leaders)} {during}"
            else:
                leaders.discard(one.node)
            if claim.epoch is not None:
                yield f"epoch {claim.subject} {bucket(claim.epoch)}"
            if claim.members is not None:
                yield f"members {claim.subject} {len(claim.members)} {during}"
        if one.max_offsets is not None:
            offsets[one.node] = one.max_offsets
            yield f"apart {bucket(_apart(offsets))} {during}"


def _apart(offsets: dict[str, dict[str, int]]) -> int:
    """The greatest distance between two replicas of a queue, as far as both were last heard."""
    by_queue: dict[str, list[int]] = {}
    for own in offsets.values():
        for queue, offset in own.items():
            by_queue.setdefault(queue, []).append(offset)
    return max((max(ends) - min(ends) for ends in by_queue.values()), default=0)


def of_logs(nodes: Path) -> Iterator[str]:
    """The lines of all logs below a folder, without what changes from run to run."""
    for path in sorted(nodes.rglob("*.log")):
        with path.open("rb") as file:
            for _, line in zip(range(LINES_MOST), file, strict=False):
                if plain := normalise(line.decode(errors="replace")):
                    yield f"log {zlib.crc32(plain.encode()):08x}"


def normalise(line: str) -> str:
    """A line of a log with ``#`` for each number, at most 160 characters."""
    return _NUMBERS.sub("#", " ".join(line.split()))[:_LINE_MOST]
