"""What a run's model calls the things that a report speaks of: its words, what changes an object, what a key is.

Pure. A stored run is told of without the package of its model too, then in words that fit every model.
"""

from collections.abc import Mapping
from typing import NamedTuple

from chaos.core.errors import UsageError
from chaos.core.runinfo import RunInfo
from chaos.models.log.words import MODEL as LOG_MODEL
from checkers.history.words import words_of


class Terms(NamedTuple):
    """The terms of one run.

    ``words``: number to word, as tables and points have them. ``changes``: the words of which an ok answer promises
    that the object was changed, as far as clients used them. ``change``: one of them as a noun. ``key``: what a key
    names. ``is_log``: whether there are messages, offsets and readers.
    """

    words: Mapping[int, str]
    changes: frozenset[str]
    change: str
    key: str
    is_log: bool


def terms_of(run: RunInfo) -> Terms:
    """The terms of a run."""
    try:
        changing = words_of(run).changing
    except UsageError:
        changing = frozenset()
    asked = {word for word in changing if run.mix.get(word, 0) > 0}
    is_log = run.model == LOG_MODEL
    return Terms(
        words={number: word for word, number in run.words.items()},
        changes=frozenset(asked or changing),
        change=next(iter(asked)) if len(asked) == 1 else "change",
        key="queue" if is_log else "key",
        is_log=is_log,
    )
