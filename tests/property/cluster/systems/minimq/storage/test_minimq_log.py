"""The commit log against the plainest model: a list of records, everything derived by looking through it."""

from hypothesis import given
from hypothesis import strategies as st

from cluster.systems.minimq.protocol.broker_messages import COMMIT, DATA
from cluster.systems.minimq.storage.commit_log import CommitLog, QueueKey, commit_record, data_record

KEYS = [QueueKey("t", 0), QueueKey("t", 1), QueueKey("u", 0)]
steps = st.lists(
    st.one_of(
        st.tuples(st.just("data"), st.sampled_from(KEYS), st.sampled_from(["", "p", "q"]), st.integers(0, 2)),
        st.tuples(st.just("commit"), st.sampled_from(KEYS), st.sampled_from(["g", "h"]), st.integers(0, 9)),
        st.tuples(st.just("truncate"), st.integers(0, 40)),
    ),
    max_size=40,
)


def build(plan):
    log, records, epoch = CommitLog(), [], 1
    for step in plan:
        if step[0] == "truncate":
            log.truncate(step[1])
            del records[step[1] :]
            continue
        kind, key, writer, number = step
        epoch += number == 0
        if kind == "commit":
            record = commit_record(epoch, key, writer, number)
        else:
            offset = log.queue_length(key)
            sequence = len(log.sequences(writer, key)) if writer else -1
            record = data_record(epoch, key, offset, bytes(number), writer, sequence)
        assert log.append(record) == len(records)
        records.append(record)
    return log, records


@given(steps, st.integers(0, 45), st.integers(0, 5), st.integers(1, 5))
def test_everything_derived_is_what_the_records_say(plan, below, offset, count):
    log, records = build(plan)
    assert log.end == len(records)
    assert log.slice(0, 1000, 1 << 20) == tuple(records)
    assert log.last_epoch == (records[-1].epoch if records else 0)
    starts = {}
    for position, record in enumerate(records):
        starts.setdefault(record.epoch, position)
    assert dict(log.epochs) == starts
    for key in KEYS:
        mine = [record for record in records if (record.topic, record.queue) == key]
        visible = [record for record in records[:below] if (record.topic, record.queue) == key]
        data = [record for record in visible if record.kind == DATA]
        assert log.queue_length(key) == sum(record.kind == DATA for record in mine)
        assert log.queue_end(key, below) == len(data)
        assert log.read(key, offset, below, count, 1 << 20) == tuple(data[offset : offset + count])
        for group in ("g", "h"):
            commits = [record.offset for record in visible if record.kind == COMMIT and record.writer == group]
            last = log.last_commit(group, key, below)
            assert (None if last is None else last.offset) == (commits[-1] if commits else None)
        for producer in ("p", "q"):
            numbered = [record for record in mine if record.kind == DATA and record.writer == producer]
            assert [log.at(position) for position in log.sequences(producer, key)] == numbered
            assert [record.sequence for record in numbered] == list(range(len(numbered)))


@given(steps)
def test_a_log_is_the_same_rebuilt_from_its_records(plan):
    log, records = build(plan)
    assert vars(CommitLog(records)) == vars(log)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=9), st.integers(1, 12))
def test_answers_are_bounded_in_bytes_but_never_empty(sizes, bytes_max):
    log = CommitLog(data_record(1, KEYS[0], n, bytes(size), "", -1) for n, size in enumerate(sizes))
    got = log.slice(0, 100, bytes_max)
    assert len(got) >= 1
    assert len(got) == 1 or sum(sizes[: len(got)]) <= bytes_max
    assert len(got) == len(sizes) or sum(sizes[: len(got) + 1]) > bytes_max
