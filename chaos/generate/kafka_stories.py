"""The smallest stories that hold one anomaly of a Kafka-style history each, and nothing else.

Every story plays on one log while everybody else waits. Its clients are fresh ones, so that no cursor of the others
moves, and the log's own consumer lets go of it before and takes it up again behind. docs/reference/kafka.md has the
definitions. Does not plant what never comes alone (cycles of ww, which need ``--ww-deps``).
"""

from collections.abc import Callable
from typing import Final, Protocol

from chaos.generate.kafka_lines import Message, Mops, Poll, Send


class Stage(Protocol):
    """What a story needs of the history around it; all operations are one after the other but for ``run_at_once``."""

    def send(self, key: int, offset: int | None, value: int, process: int | None = None, kind: str = "ok") -> int:
        """One send by a process, a fresh one unless said; the process."""
        ...

    def poll(self, key: int, *polls: list[Message], kind: str = "ok") -> None:
        """Polls of a log by a fresh process that is assigned it."""
        ...

    def run_at_once(self, *transactions: tuple[str, str, Mops]) -> None:
        """Operations of fresh processes that are under way at once: how each ends, what it is, what it says."""
        ...

    def value(self, key: int) -> int:
        """A value that the log never held."""
        ...

    def offsets(self, key: int, count: int) -> range:
        """The next offsets of a log."""
        ...


def _lost(stage: Stage, key: int) -> None:
    """A transaction without an answer has two sends; one is polled, so the other is there, but is passed by."""
    (o, p), (a, b) = stage.offsets(key, 2), (stage.value(key), stage.value(key))
    stage.run_at_once(("info", "txn", [Send(key, a, o), Send(key, b, p)]))
    stage.poll(key, [(p, b)])


def _duplicate(stage: Stage, key: int) -> None:
    (o, p), a = stage.offsets(key, 2), stage.value(key)
    stage.send(key, o, a)
    stage.poll(key, [(p, a)])


def _inconsistent(stage: Stage, key: int) -> None:
    (o,), (a, b) = stage.offsets(key, 1), (stage.value(key), stage.value(key))
    stage.send(key, o, a)
    stage.send(key, o, b)
    stage.poll(key, [(o, a)])
    stage.poll(key, [(o, b)])


def _aborted(stage: Stage, key: int) -> None:
    (o,), a = stage.offsets(key, 1), stage.value(key)
    stage.send(key, None, a, kind="fail")
    stage.poll(key, [(o, a)])


def _precommitted(stage: Stage, key: int) -> None:
    (o,), a = stage.offsets(key, 1), stage.value(key)
    stage.run_at_once(("ok", "txn", [Send(key, a, o), Poll({key: [(o, a)]})]))


def _sent(stage: Stage, key: int, count: int) -> list[Message]:
    """Messages that are acknowledged one after the other."""
    messages = [(offset, stage.value(key)) for offset in stage.offsets(key, count)]
    for offset, value in messages:
        stage.send(key, offset, value)
    return messages


def _passed_inside(stage: Stage, key: int) -> None:
    a, b, c = _sent(stage, key, 3)
    stage.poll(key, [a, c])
    stage.poll(key, [b])


def _back_inside(stage: Stage, key: int) -> None:
    a, b = _sent(stage, key, 2)
    stage.poll(key, [b, a])


def _passed_between(stage: Stage, key: int) -> None:
    a, b, c = _sent(stage, key, 3)
    stage.poll(key, [a], [c])
    stage.poll(key, [b])


def _polled_again(stage: Stage, key: int) -> None:
    a, b = _sent(stage, key, 2)
    stage.poll(key, [a, b], [b])


def _sent_back_inside(stage: Stage, key: int) -> None:
    (o, p), (a, b) = stage.offsets(key, 2), (stage.value(key), stage.value(key))
    stage.run_at_once(("ok", "txn", [Send(key, a, p), Send(key, b, o)]))
    stage.poll(key, [(o, b), (p, a)])


def _sent_between(stage: Stage, key: int) -> None:
    (o, p, q), (a, b, c) = stage.offsets(key, 3), (stage.value(key), stage.value(key), stage.value(key))
    stage.run_at_once(("ok", "txn", [Send(key, a, o), Send(key, c, q)]), ("ok", "send", [Send(key, b, p)]))
    stage.poll(key, [(o, a), (p, b), (q, c)])


def _sent_back(stage: Stage, key: int) -> None:
    """The first acknowledgement names no offset, so it does not say that the message was in the log by then."""
    (o, p), (a, b) = stage.offsets(key, 2), (stage.value(key), stage.value(key))
    process = stage.send(key, None, a)
    stage.send(key, o, b, process)
    stage.poll(key, [(o, b), (p, a)])


def _reordered(stage: Stage, key: int) -> None:
    (o, p), (a, b) = stage.offsets(key, 2), (stage.value(key), stage.value(key))
    stage.send(key, p, a)
    stage.send(key, o, b)
    stage.poll(key, [(o, b), (p, a)])


def _stale(stage: Stage, key: int) -> None:
    (a,) = _sent(stage, key, 1)
    stage.poll(key, [])
    stage.poll(key, [a])


def _phantom(stage: Stage, key: int) -> None:
    (o,), a = stage.offsets(key, 1), stage.value(key)
    stage.poll(key, [(o, a)])


def _circle(stage: Stage, key: int) -> None:
    """Two transactions polled what the other one sent."""
    (o, p), (a, b) = stage.offsets(key, 2), (stage.value(key), stage.value(key))
    stage.run_at_once(
        ("ok", "txn", [Send(key, a, o), Poll({key: [(p, b)]})]), ("ok", "txn", [Send(key, b, p), Poll({key: [(o, a)]})])
    )


def _future(stage: Stage, key: int) -> None:
    (o,), a = stage.offsets(key, 1), stage.value(key)
    stage.poll(key, [(o, a)])
    stage.send(key, o, a)


UNSEEN: Final = "unseen"
"""No story: acknowledged when everybody has done with polling."""

STORIES: Final[dict[str, Callable[[Stage, int], None]]] = {
    "lost-write": _lost,
    "duplicate": _duplicate,
    "inconsistent-offsets": _inconsistent,
    "G1a": _aborted,
    "precommitted-read": _precommitted,
    "int-poll-skip": _passed_inside,
    "int-nonmonotonic-poll": _back_inside,
    "poll-skip": _passed_between,
    "nonmonotonic-poll": _polled_again,
    "int-nonmonotonic-send": _sent_back_inside,
    "int-send-skip": _sent_between,
    "nonmonotonic-send": _sent_back,
    "nonlinearizable-offset": _reordered,
    "stale-tail": _stale,
    "phantom": _phantom,
    "G1c": _circle,
    "G1c-realtime": _future,
}
PLANTED: Final = (*STORIES, UNSEEN)
LONGEST: Final = 12
"""Operations of a story at most, with those that the log's own consumer does around it (a test counts them)."""
