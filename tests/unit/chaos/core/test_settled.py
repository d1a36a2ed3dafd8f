"""However an operation ends, its completion and its record carry what the client was given until then."""

import asyncio
from pathlib import Path

import pytest

from chaos.core.client import Definite, Indefinite, Received, invoke_in_time
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Completion, Invocation, Type
from chaos.models.log.model import LOG
from chaos.models.log.operations import Given, ReadFrom
from chaos.models.log.words import F, Record, Value
from chaos.storage.history import read_stream
from chaos.storage.recorder import Recorder

GIVEN = [Record(n, Value(1, n)) for n in range(3)]


class Reader:
    """Is given some pages, and then its operation ends in a way of the test's."""

    pinned_to = None

    def __init__(self, ending: BaseException | None) -> None:
        self.ending = ending

    async def invoke(self, op: Invocation, received: Received) -> None:
        received.node = "b2"
        given = received.result = Given(min_offset=0, max_offset=9)
        for record in GIVEN:
            given.records.append(record)
            given.next_offset = record.offset + 1
        if self.ending is None:
            return
        if isinstance(self.ending, asyncio.CancelledError):
            await asyncio.Event().wait()  # until the deadline
        raise self.ending

    async def refresh(self) -> None: ...

    async def close(self) -> None: ...


def read(timeout_s: float) -> Invocation:
    deadline_ns = now_ns() + int(timeout_s * NS_PER_S)
    return Invocation(process=0, client=0, f=F.READ, key=0, deadline_ns=deadline_ns, argument=ReadFrom(offset=0))


ENDINGS = {
    "ok": (None, Type.OK, None),
    "fail": (Definite("not master any more"), Type.FAIL, "not master any more"),
    "info": (Indefinite("connection reset"), Type.INFO, "connection reset"),
    "deadline": (asyncio.CancelledError(), Type.INFO, "no answer before the deadline"),
    "own deadline": (TimeoutError(), Type.INFO, "no answer before the deadline"),
    "unforeseen": (KeyError("minOffset"), Type.INFO, "KeyError: 'minOffset'"),
    "operating system": (OSError(9, "Bad file descriptor"), Type.INFO, "OSError: [Errno 9] Bad file descriptor"),
}


@pytest.mark.parametrize(("ending", "kind", "error"), ENDINGS.values(), ids=ENDINGS)
def test_what_was_given_is_in_the_completion_and_in_the_history(
    tmp_path: Path, ending: BaseException | None, kind: Type, error: str | None
) -> None:
    op = read(0.05 if isinstance(ending, asyncio.CancelledError) else 60)
    recorder = Recorder(tmp_path, 0, ("b1", "b2"), LOG)
    number, _ = recorder.invoke(op, 0, pinned=False)
    done = asyncio.run(invoke_in_time(Reader(ending), op))
    given = Given(GIVEN, next_offset=3, min_offset=0, max_offset=9)
    assert done == Completion(type=kind, node="b2", result=given, error=error)
    recorder.complete(number, op, done)
    recorder.close()
    stream = read_stream(tmp_path, 0, LOG)
    (row,) = stream.operations.to_pylist()
    assert (row["type"], row["count"], row["next_offset"], row["max_offset"], row["node"]) == (kind, 3, 3, 9, 1)
    assert [(one["offset"], one["sequence"]) for one in stream.reads.to_pylist()] == [(0, 0), (1, 1), (2, 2)]


def test_two_operations_share_nothing() -> None:
    first, second = Given(), Given()
    first.records.append(GIVEN[0])
    assert second.records == []
