"""What columns show of watches, against the check that looks at writes and events one by one."""

import random

import numpy as np

from chaos.core.op import Type
from chaos.models.coordination.watch import DELETED, NOT_TOLD, F
from checkers.coordination.watch import against_writes, of_itself
from checkers.coordination.watch_facts import Known, Writes, told_of
from checkers.coordination.watch_fits import every_write_was_told
from checkers.history.check_input import QueueShard

ENTRIES = 3
EVENT = ("batch", "event_revision", "event_entry", "event_value", "previous_revision", "previous_value")


class Space:
    """Entries that are written, and all that became of them."""

    def __init__(self, rng):
        self.rng, self.revision, self.value = rng, 0, 0
        self.held = {}
        self.events = []
        self.rows = []

    def write(self):
        rng = self.rng
        entries = rng.sample(range(ENTRIES), rng.choice([1, 1, 1, 2]))
        values = []
        for _ in entries:
            self.value += 1
            values.append(DELETED if rng.random() < 0.25 else self.value)
        kind = rng.choices([Type.OK, Type.INFO, Type.FAIL], [12, 3, 1])[0]
        effects = 0
        if kind is Type.OK or (kind is Type.INFO and rng.random() < 0.5):
            self.revision += rng.choice([1, 1, 2])
            for place, (entry, value) in enumerate(zip(entries, values, strict=True)):
                if value == DELETED and entry not in self.held:
                    continue
                effects |= 1 << place
                before = self.held.pop(entry, (0, DELETED))
                if value != DELETED:
                    self.held[entry] = (self.revision, value)
                self.events.append((self.revision, self.revision, entry, value, *before))
        told = kind is Type.OK
        revision = self.revision if told and effects else 0
        self.row(
            F.WRITE, kind, told, change_entry=entries, change_value=values, effects=told * effects, revision=revision
        )

    def watch(self):
        since = self.rng.randrange(1, self.revision + 2)
        events = [one for one in sorted(self.events) if one[1] >= since]
        if self.rng.random() < 0.1:
            events = self.spoilt(events)
        columns = zip(*events, strict=True) if events else [[]] * len(EVENT)
        lists = {name: list(column) for name, column in zip(EVENT, columns, strict=True)}
        self.row(F.SUBSCRIBE, Type.OK, told=True, revision=since, **lists)

    def spoilt(self, events):
        out = [list(one) for one in events]
        if not out:
            return out
        at, how = self.rng.randrange(len(out)), self.rng.randrange(4)
        if how == 0:
            del out[at]
        elif how == 1:
            out[at][self.rng.randrange(1, 6)] = self.rng.randrange(self.value + 2)
        elif how == 2:
            out[at][4] = NOT_TOLD
        else:
            out[at][3] = DELETED
        return out

    def row(self, f, kind, told, **cells):
        blank = {name: [] for name in ("change_entry", "change_value", *EVENT)}
        at = 10 * len(self.rows)
        common = {"f": int(f), "type": int(kind), "answer": 1 if told else -1, "invoke_ns": at, "complete_ns": at + 5}
        self.rows.append(common | blank | {"effects": 0, "revision": 0} | cells)

    def shard(self):
        columns = {}
        for name in self.rows[0]:
            cells = [row[name] for row in self.rows]
            of_lists = isinstance(cells[0], list)
            columns[name] = np.fromiter(cells, dtype=object, count=len(cells)) if of_lists else np.array(cells)
        return QueueShard(0, columns, {})


def test_watches_fit_where_nothing_is_found():
    rng, answers = random.Random(17), {(fits, clean): 0 for fits in (True, False) for clean in (True, False)}
    for _ in range(1500):
        space = Space(rng)
        for _ in range(rng.randint(2, 10)):
            (space.write if rng.random() < 0.7 else space.watch)()
        shard = space.shard()
        told = told_of(shard)
        if list(of_itself(told)):
            continue
        late = np.zeros(len(told.ops), dtype=np.bool_)
        wrong = list(against_writes(told, Known(told, Writes(shard)), late, whole=True))
        fits = every_write_was_told(shard, told)
        assert not (fits and wrong), (wrong, space.rows)
        answers[fits, not wrong] += 1
    assert answers[True, True] > 500, answers
    assert answers[False, False] > 30, answers
    assert answers[False, True] < answers[True, True] / 4, "what nobody told of is rare"
