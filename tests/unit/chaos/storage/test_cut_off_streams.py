"""The stream of a killed worker is ended where it was cut off: all that was stored stays, and the rest is unknown."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from log_ops import gave, placed, reading, sending

from chaos.core.errors import HistoryError
from chaos.core.op import Completion, Invocation, Type
from chaos.models.log.model import LOG
from chaos.models.log.words import F
from chaos.models.registry import model_named
from chaos.models.transactions.words import Do, Micro, Reads, Transaction
from chaos.models.transactions.words import F as T
from chaos.storage.cut_off_streams import Sealed, seal
from chaos.storage.history import read_stream
from chaos.storage.recorder import OP_SIZE, Recorder

LISTS = model_named("transaction")


def send(process: int, sequence: int) -> Invocation:
    return sending((1, sequence), process=process, client=1, deadline_ns=9)


def written(folder: Path) -> None:
    """Five operations without an end: one acknowledged, one read, one refused, one in doubt, one open."""
    recorder = Recorder(folder, 3, ("b1", "b2"), LOG)
    read = reading(F.POLL, process=1, client=2, deadline_ns=9)
    done = [placed(7, node="b2"), gave((6, (3, 2)), (7, None), next_offset=8, min_offset=0, max_offset=9, node="b1")]
    done += [Completion(type=Type.FAIL, error="refused"), Completion(type=Type.INFO, error="cut off")]
    for number, op in enumerate([send(0, 0), read, send(2, 1), send(3, 2), send(4, 3)]):
        made, _ = recorder.invoke(op, number, pinned=False)
        if number < len(done):
            recorder.complete(made, op, done[number])


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_all_that_was_stored_stays_and_what_was_open_is_unknown(tmp_path: Path) -> None:
    written(tmp_path)
    before = read_stream(tmp_path, 3, LOG)
    assert not before.facts.ended
    assert seal(tmp_path, 3, LOG) == Sealed(operations=5, unknown=2)
    after = read_stream(tmp_path, 3, LOG)
    assert after.facts.ended
    assert after.operations.equals(before.operations)
    assert after.reads is not None
    assert after.reads.equals(before.reads)
    assert [row["type"] for row in after.operations.to_pylist()] == [
        *(Type.OK, Type.OK, Type.FAIL, Type.INFO, Type.INFO)
    ]
    sealed = files(tmp_path)
    assert seal(tmp_path, 3, LOG) == Sealed(operations=5, unknown=2)
    assert files(tmp_path) == sealed, "a stream that has its end is left alone"


@pytest.mark.parametrize("bytes_of_next", [1, 40])
def test_half_of_a_record_is_no_record(tmp_path: Path, bytes_of_next: int) -> None:
    """Whoever was killed while it stored a completion has an operation that is open."""
    written(tmp_path)
    path = tmp_path / "w3.ops"
    whole = path.read_bytes()
    cut = 8 * OP_SIZE  # behind the completion that is in doubt lies the last invocation
    path.write_bytes(whole[: cut + bytes_of_next] + b"\0" * (len(whole) - cut - bytes_of_next))
    assert seal(tmp_path, 3, LOG) == Sealed(operations=4, unknown=1)
    assert read_stream(tmp_path, 3, LOG).facts.ended


def test_rows_values_and_errors_without_their_record_are_cut_off(tmp_path: Path) -> None:
    """They are stored before the record that names them."""
    written(tmp_path)
    path = tmp_path / "w3.ops"
    whole = path.read_bytes()
    path.write_bytes(whole[: 3 * OP_SIZE] + b"\0" * (len(whole) - 3 * OP_SIZE))  # the read is open
    assert seal(tmp_path, 3, LOG) == Sealed(operations=2, unknown=1)
    stream = read_stream(tmp_path, 3, LOG)
    assert stream.reads is not None
    assert (stream.facts.ended, stream.reads.num_rows) == (True, 0)
    assert (tmp_path / "w3.errors").read_bytes() == b""


def test_values_that_no_record_names_are_cut_off(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, 0, ("n1",), LISTS)
    argument = Transaction((Micro(Do.APPEND, 1, 2), Micro(Do.READ, 1)))
    op = Invocation(process=0, client=0, f=T.LIST_TXN, key=0, deadline_ns=9, argument=argument)
    number, _ = recorder.invoke(op, 1, pinned=False)
    recorder.complete(number, op, Completion(type=Type.OK, result=Reads(([2],))))
    path = tmp_path / "w0.ops"
    whole = path.read_bytes()
    path.write_bytes(whole[:OP_SIZE] + b"\0" * (len(whole) - OP_SIZE))
    assert seal(tmp_path, 0, LISTS) == Sealed(operations=1, unknown=1)
    assert read_stream(tmp_path, 0, LISTS).facts.ended


def test_what_was_altered_is_not_ended(tmp_path: Path) -> None:
    written(tmp_path)
    path = tmp_path / "w3.ops"
    data = bytearray(path.read_bytes())
    data[2 * OP_SIZE + 20] ^= 1
    path.write_bytes(data)
    before = files(tmp_path)
    with pytest.raises(HistoryError, match="damaged and others follow"):
        seal(tmp_path, 3, LOG)
    assert files(tmp_path) == before


KILLED = """\
import sys
from pathlib import Path
from chaos.storage.recorder import Recorder
from chaos.models.log.model import LOG
from log_ops import sending
recorder = Recorder(Path(sys.argv[1]), 3, ("b1",), LOG)
number = 0
while True:
    number += 1
    recorder.invoke(sending((1, number), process=number, client=1, deadline_ns=9), number, pinned=False)
    if number == 20:
        print("enough", flush=True)
"""


def test_a_process_that_is_killed_while_it_stores_leaves_every_invocation(tmp_path: Path) -> None:
    support = str(Path(__file__).parents[3] / "support")
    argv = [sys.executable, "-c", f"import sys; sys.path.insert(0, {support!r})\n{KILLED}", str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"enough\n"
        os.kill(process.pid, signal.SIGKILL)
    sealed = seal(tmp_path, 3, LOG)
    assert sealed.operations >= 20
    assert sealed.unknown == sealed.operations
    assert read_stream(tmp_path, 3, LOG).facts.last_sequence == {1: sealed.operations}
