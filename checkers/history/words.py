"""What the words of a run's model are to the checks that judge runs of any model.

From the functions of the model, so that recovery, availability and traffic are judged alike of logs, registers and
whatever comes.
"""

from collections.abc import Mapping
from typing import NamedTuple

from chaos import plugins
from chaos.models.registry import model_named
from chaos.storage.runinfo import RunInfo


class Words(NamedTuple):
    """The words of a model by their numbers.

    ``key``: what one key is called. ``change``: what it is called to change one. ``named``: number to word.
    ``changes``: an ok answer promises that the object was changed. ``timed``: recovery times are measured of these,
    changes first. ``budgeted``: of those, what a budget of recovery times counts. ``final``: asked only after the load.
    """

    key: str
    change: str
    named: Mapping[int, str]
    changes: tuple[int, ...]
    timed: tuple[int, ...]
    budgeted: frozenset[str]
    final: tuple[int, ...]

    @property
    def changing(self) -> frozenset[str]:
        """The words that change the object."""
        return frozenset(self.named[number] for number in self.changes)

    @property
    def timed_changes(self) -> tuple[str, ...]:
        """The words that change the object and that recovery is measured of."""
        return tuple(self.named[number] for number in self.timed if number in self.changes)

    def changes_of(self, number: int) -> str:
        """``3 sends``."""
        return f"{number} {self.change}{'' if number == 1 else 's'}"


@plugins.cache_by_plugins
def _of_model(name: str) -> Words:
    model = model_named(name)
    functions = {int(word): (word.word, function) for word, function in model.functions.items()}
    changes = tuple(number for number, (_, one) in functions.items() if one.mutates)
    timed = [number for number, (_, one) in functions.items() if one.timed]
    return Words(
        key=model.key,
        change=model.change,
        named={number: word for number, (word, _) in functions.items()},
        changes=changes,
        timed=tuple(sorted(timed, key=lambda number: number not in changes)),
        budgeted=frozenset(word for word, one in functions.values() if one.timed and one.budgeted),
        final=tuple(number for number, (_, one) in functions.items() if one.final),
    )


def words_of(run: RunInfo) -> Words:
    """The words of a run.

    Raises:
        UsageError: its model is not installed here.
    """
    return _of_model(run.model)
