"""What a run's model calls the things that a report speaks of: its words, what changes an object, what a key is.

Pure. A stored run is told of without the package of its model too, then in words that fit every model.
"""

from collections.abc import Mapping
from typing import NamedTuple

from chaos.core.errors import UsageError
from chaos.models.log.words import MODEL as LOG_MODEL
from chaos.storage.runinfo import RunInfo
from checkers.history.words import words_of


class Terms(NamedTuple):
    """The terms of one run.

    ``words``: number to word, as tables and points have them. ``changes``: the words of which an ok answer promises
    that the object was changed, as far as clients used them. ``change``: what the load counts, as a noun;
    ``any_change``: a noun for all of them. ``key``: what a key is called. ``is_log``: whether there are messages,
    offsets and readers.
    """

    words: Mapping[int, str]
    changes: frozenset[str]
    change: str
    any_change: str
    key: str
    is_log: bool


def terms_of(run: RunInfo) -> Terms:
    """The terms of a run."""
    try:
        words = words_of(run)
        changing, key, change = words.changing, words.key, words.change
    except UsageError:
        changing, key, change = frozenset(), "key", "change"
    changes = frozenset(word for word in changing if run.mix.get(word, 0) > 0) or changing
    return Terms(
        words={number: word for word, number in run.words.items()},
        changes=changes,
        change=change,
        any_change=next(iter(changes)) if len(changes) == 1 else "change",
        key=key,
        is_log=run.model == LOG_MODEL,
    )
