"""The stream survives its writer: what was recorded is read back, a torn tail is cut and counted."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from log_ops import gave, placed, reading, sending

from chaos.core.errors import HistoryError
from chaos.core.op import Completion, Invocation, Type
from chaos.models.log.layout import READ_SIZE
from chaos.models.log.model import LOG
from chaos.models.log.words import F
from chaos.storage.history import NEVER_NS, materialise_stream, read_stream
from chaos.storage.recorder import OP_SIZE, Recorder


def send(process: int, sequence: int, key: int = 0) -> Invocation:
    return sending((1, sequence), key=key, process=process, client=1, deadline_ns=9)


def poll(process: int, key: int = 0) -> Invocation:
    return reading(F.POLL, key=key, process=process, client=2, deadline_ns=9)


def written(folder: Path) -> None:
    recorder = Recorder(folder, 0, ("b1", "b2"), LOG)
    first, _ = recorder.invoke(send(0, 0), 5, pinned=True)
    second, _ = recorder.invoke(poll(1), 6, pinned=False)
    recorder.complete(first, send(0, 0), placed(7, node="b2"))
    done = gave((6, (3, 2)), (7, None), next_offset=8, min_offset=0, max_offset=9, node="b1")
    recorder.complete(second, poll(1), done)
    recorder.invoke(send(2, 1), 7, pinned=False)
    recorder.not_sent(send(3, 2), 8, pinned=False)
    third, _ = recorder.invoke(send(4, 3, key=2), 9, pinned=False)
    recorder.complete(third, send(4, 3, key=2), Completion(type=Type.FAIL, error="refused"))
    recorder.close()


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    written(tmp_path)
    stream = read_stream(tmp_path, 0, LOG)
    rows = stream.operations.to_pylist()
    assert stream.facts.ended
    assert stream.facts.torn_bytes == 0
    assert stream.facts.last_sequence == {1: 3}
    assert [row["type"] for row in rows] == [Type.OK, Type.OK, Type.INFO, Type.NOT_SENT, Type.FAIL]
    acked, polled, open_send, _, failed = rows
    assert (acked["offset"], acked["node"], acked["pinned"], acked["writer"], acked["sequence"]) == (7, 1, True, 1, 0)
    assert (polled["offset"], polled["next_offset"], polled["max_offset"], polled["count"]) == (0, 8, 9, 2)
    assert open_send["complete_ns"] == NEVER_NS
    assert (failed["error"], failed["key"]) == ("refused", 2)
    reads = stream.reads.to_pylist()
    assert [(r["offset"], r["writer"], r["sequence"], r["position"]) for r in reads] == [(6, 3, 2, 0), (7, -1, -1, 1)]


def test_every_cut_of_the_file_reads_as_a_prefix(tmp_path: Path) -> None:
    written(tmp_path)
    whole = (tmp_path / "w0.ops").read_bytes()
    before = -1
    for length in range(0, len(whole) + 1, 7):
        (tmp_path / "w0.ops").write_bytes(whole[:length])
        facts = read_stream(tmp_path, 0, LOG).facts
        assert facts.operations >= before
        assert facts.ended == (length // OP_SIZE * OP_SIZE == len(whole))
        before = facts.operations


def damaged(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def killed(folder: Path) -> None:
    """Take the end of a stream away."""
    path = folder / "w0.ops"
    path.write_bytes(path.read_bytes()[:-OP_SIZE])


@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize(("name", "size"), [("w0.ops", OP_SIZE), ("w0.reads", READ_SIZE)])
def test_a_damaged_record_with_others_behind_it_is_an_alteration(
    tmp_path: Path, name: str, size: int, *, ended: bool
) -> None:
    """Whoever was killed had stored nothing behind the record that it was storing."""
    written(tmp_path)
    if not ended:
        killed(tmp_path)
    damaged(tmp_path / name, 20)
    with pytest.raises(HistoryError, match=rf"{name}: record 1, at byte 0, is damaged and others follow"):
        read_stream(tmp_path, 0, LOG)


def test_the_last_record_of_a_killed_writer_may_be_torn(tmp_path: Path) -> None:
    written(tmp_path)
    killed(tmp_path)
    before = read_stream(tmp_path, 0, LOG).facts
    damaged(tmp_path / "w0.ops", (tmp_path / "w0.ops").stat().st_size - 1)
    facts = read_stream(tmp_path, 0, LOG).facts
    assert (before.torn_bytes, facts.ended, facts.operations) == (0, False, before.operations)
    assert 0 < facts.torn_bytes <= OP_SIZE


def test_a_read_whose_records_were_cut_off_has_no_completion(tmp_path: Path) -> None:
    written(tmp_path)
    killed(tmp_path)
    assert read_stream(tmp_path, 0, LOG).reads.num_rows == 2
    path = tmp_path / "w0.reads"
    path.write_bytes(path.read_bytes()[:-1])
    stream = read_stream(tmp_path, 0, LOG)
    polled = next(row for row in stream.operations.to_pylist() if row["f"] == F.POLL)
    assert (polled["type"], polled["complete_ns"], stream.reads.num_rows) == (Type.INFO, NEVER_NS, 0)


def test_a_stream_that_ended_lacks_no_record_of_a_read(tmp_path: Path) -> None:
    written(tmp_path)
    path = tmp_path / "w0.reads"
    for data in (path.read_bytes()[:-READ_SIZE], b"", path.read_bytes() + path.read_bytes()[:READ_SIZE]):
        path.write_bytes(data)
        with pytest.raises(HistoryError, match=r"w0\.reads: .*altered"):
            read_stream(tmp_path, 0, LOG)
    path.unlink()
    with pytest.raises(HistoryError, match=r"w0\.reads: missing"):
        read_stream(tmp_path, 0, LOG)


def test_a_record_of_a_read_belongs_to_its_place(tmp_path: Path) -> None:
    """Two records of one read, the second put over the first: each is whole by itself."""
    written(tmp_path)
    path = tmp_path / "w0.reads"
    data = path.read_bytes()
    path.write_bytes(data[READ_SIZE:] * 2)
    with pytest.raises(HistoryError, match=r"w0\.reads: record 1"):
        read_stream(tmp_path, 0, LOG)


@pytest.mark.parametrize("text", ["", "refused\n", "one\ntwo\nthree\n", "one\ntwo"])
def test_a_stream_that_ended_names_every_line_of_its_errors(tmp_path: Path, text: str) -> None:
    written(tmp_path)
    assert (tmp_path / "w0.errors").read_text().count("\n") == 2
    (tmp_path / "w0.errors").write_text(text)
    with pytest.raises(HistoryError, match=r"w0\.errors: .*operations name 2"):
        read_stream(tmp_path, 0, LOG)


def test_records_removed_from_the_middle_are_an_alteration(tmp_path: Path) -> None:
    written(tmp_path)
    data = (tmp_path / "w0.ops").read_bytes()
    (tmp_path / "w0.ops").write_bytes(data[:OP_SIZE] + data[2 * OP_SIZE :])
    with pytest.raises(HistoryError, match="altered"):
        read_stream(tmp_path, 0, LOG)


def test_row_groups_are_cut_at_keys(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    written(tmp_path)
    materialise_stream(tmp_path, 0, LOG)
    file = pq.ParquetFile(tmp_path / "operations" / "w0.parquet")
    keys = [set(file.read_row_group(i, columns=["key"])["key"].to_pylist()) for i in range(file.num_row_groups)]
    assert keys == [{0}, {2}]


def test_a_killed_writer_loses_nothing_that_it_stored(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from chaos.core.op import *; from chaos.storage.recorder import Recorder\n"
        "from chaos.models.log.model import LOG; from chaos.models.log.operations import Placed, Send\n"
        "from chaos.models.log.words import F, Value\n"
        "r = Recorder(Path(sys.argv[1]), 0, ('b1',), LOG)\n"
        "for i in range(40000):\n"
        "    op = Invocation(process=i, client=0, f=F.SEND, key=0, deadline_ns=0, argument=Send(value=Value(0, i)))\n"
        "    n, _ = r.invoke(op, 0, pinned=False)\n"
        "    if i == 39999: print('stored', flush=True); import signal; signal.pause()\n"
        "    r.complete(n, op, Completion(type=Type.OK, result=Placed(i)))\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"stored\n"
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    stream = read_stream(tmp_path, 0, LOG)
    assert stream.facts.operations == 40000
    assert not stream.facts.ended
    assert stream.operations["type"].to_pylist().count(Type.OK) == 39999
