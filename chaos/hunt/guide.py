"""Which run comes next in a guided hunt: one that is drawn, or a changed plan of a run that has shown something new.

The choice is drawn from the hunt's seed and the run's number, and depends on what the runs before have shown. So a hunt
with one job is the same hunt each time on a simulated system.

A run that broke an invariant of a simulated system which no client saw is nearly a find: its plan is taken most often.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from chaos.basics.rand import stream
from chaos.core.errors import ChaosError
from chaos.hunt.candidate import Candidate
from chaos.hunt.corpus import NEW, Corpus, kept_in, read_kept
from chaos.hunt.features import BROKEN
from chaos.hunt.mutate import Material, mutate
from chaos.options.experiment import Experiment
from nemesis.targets.topology import Topology

DRAWN_SHARE: Final = 0.4
"""So many runs are drawn anew, because changed plans find only what is near to something known."""
NEAR_SHARE: Final = 0.7
"""So many changed plans are of runs that broke an invariant, if there are any."""
LOAD_SHARE: Final = 0.25
"""So many of the changed plans meet the workload and the load that were drawn: others may see what these do not."""
SEEN_MOST: Final = 200_000


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A plan that has shown something new, and the run that it was. ``near``: an invariant was broken in it."""

    base: Experiment
    candidate: Candidate
    near: bool


class Guide:
    """Remembers what was seen, and changes the plans that showed it first.

    Args:
        corpus: what earlier runs have shown.
        draw: a run of a number, drawn anew.
        topology: the nodes of a run.
        seed: the hunt's.
    """

    def __init__(
        self,
        corpus: Corpus,
        draw: Callable[[int], tuple[Experiment, Candidate]],
        topology: Callable[[Experiment], Topology],
        seed: int,
    ) -> None:
        self._corpus, self._draw, self._topology, self._seed = corpus, draw, topology, seed
        self._seen = {feature for record in corpus.records for feature in record.features}
        near = {_name(record.number) for record in corpus.records if record.broken}
        kept = [place for place in kept_in(corpus.folder) if place.name.endswith(NEW)]
        self._kept = [_read(place, near=place.name in near) for place in kept]
        self._taken = [0] * len(self._kept)

    def next(self, number: int) -> tuple[Experiment, Candidate]:
        """The run of a number."""
        drawn = self._draw(number)
        random = stream(self._seed, "guide", number)
        if not self._kept or random.random() < DRAWN_SHARE:
            return drawn
        places = [place for place, one in enumerate(self._kept) if one.near]
        if not places or random.random() >= NEAR_SHARE:
            places = list(range(len(self._kept)))
        place = random.choices(places, [1 / (1 + self._taken[each]) for each in places])[0]
        self._taken[place] += 1
        parent, other = self._kept[place], random.choice(self._kept)
        base, candidate = parent.base, parent.candidate
        if random.random() < LOAD_SHARE:
            base = drawn[0]
            candidate = msgspec.structs.replace(drawn[1], rows=candidate.rows, time_limit_s=candidate.time_limit_s)
        material = Material(other=other.candidate, fresh=drawn[1], topology=self._topology(base))
        return base, mutate(random, candidate, material)

    def learn(self, number: int, base: Experiment, candidate: Candidate, features: Sequence[str]) -> tuple[str, ...]:
        """What a run has shown for the first time; its plan is kept if that is anything."""
        new = tuple(feature for feature in features if feature not in self._seen)
        if not new or len(self._seen) >= SEEN_MOST:
            return ()
        self._seen.update(new)
        if self._corpus.keep(_name(number), base, candidate) is not None:
            near = any(feature.startswith(BROKEN) for feature in features)
            self._kept.append(Kept(base=base, candidate=candidate, near=near))
            self._taken.append(0)
        return new


def _name(number: int) -> str:
    """What the kept plan of a run is called."""
    return f"{number:06d}{NEW}"


def _read(place: Path, *, near: bool) -> Kept:
    """A kept plan.

    Raises:
        ChaosError: a file of it is none.
    """
    try:
        base, candidate = read_kept(place)
    except ChaosError as error:
        raise ChaosError(f"{place}: {error}") from None
    return Kept(base=base, candidate=candidate, near=near)
