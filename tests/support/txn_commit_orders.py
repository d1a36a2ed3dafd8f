"""The search for an order of commits that explains a small history, by the definitions of models.

The search knows nothing of forced steps. It tries all orders and looks whether each transaction reads what those that
it sees left behind (Cerone, Bernardi and Gotsman, CONCUR 2015; orders of each process: Ahamad et al., 1995).
"""

import random
from itertools import permutations

import msgspec

from chaos.core.op import Type
from checkers.txn.transactions import NEVER, Kind, Micro, Transaction


class Contradicts(Exception):  # noqa: N818 - no error, a verdict
    """A transaction that no order explains."""


def _external(one, *, lists):
    """What a transaction read of others, by key.

    Raises:
        Contradicts: it disagrees with itself.
    """
    own, found = {}, {}
    for micro in one.micros:
        if micro.kind is not Kind.READ:
            own[micro.key] = (*own.get(micro.key, ()), micro.value) if lists else micro.value
            continue
        if not lists:
            if micro.key in own:
                if micro.value != own[micro.key]:
                    raise Contradicts
                continue
            value = micro.value
        else:
            mine, value = own.get(micro.key, ()), tuple(micro.value or ())
            if value[len(value) - len(mine) :] != mine:
                raise Contradicts
            value = value[: len(value) - len(mine)]
        if found.setdefault(micro.key, value) != value:
            raise Contradicts
    return found


def _left(one, *, lists):
    """What a transaction leaves at each key it writes."""
    found = {}
    for micro in one.micros:
        if micro.kind is not Kind.READ:
            found[micro.key] = (*found.get(micro.key, ()), micro.value) if lists else micro.value
    return found


def _values(value, *, lists):
    return value if lists else () if value is None else (value,)


class Orders:
    """The transactions of a history that took part, and what is known of them before any order."""

    def __init__(self, rows, *, lists, sessions):
        self.lists = lists
        rows = sorted(rows, key=lambda one: one.invoke)
        read = {
            (micro.key, value)
            for one in rows
            if one.type is Type.OK
            for micro in one.micros
            if micro.kind is Kind.READ
            for value in _values(micro.value or () if lists else micro.value, lists=lists)
        }
        self.rows = [
            one
            for one in rows
            if one.type is Type.OK
            or (
                one.type is Type.INFO
                and any(micro.kind is not Kind.READ and (micro.key, micro.value) in read for micro in one.micros)
            )
        ]
        self.left = [_left(one, lists=lists) for one in self.rows]
        self.reads = [_external(one, lists=lists) if one.type is Type.OK else {} for one in self.rows]
        left = enumerate(self.left)
        writer = {
            (key, value): at for at, one in left for key, given in one.items() for value in _values(given, lists=lists)
        }
        self.direct = [set() for _ in self.rows]
        for at, reads in enumerate(self.reads):
            for key, given in reads.items():
                for value in _values(given, lists=lists):
                    if writer.get((key, value), at) == at:
                        raise Contradicts
                    own = _values(self.left[writer[key, value]][key], lists=lists)
                    if not set(own) <= set(_values(given, lists=lists)):
                        raise Contradicts
                    self.direct[at].add(writer[key, value])
        self.before = [set(one) for one in self.direct]
        if sessions:
            for at, one in enumerate(self.rows):
                self.before[at] |= {
                    i for i in range(at) if self.rows[i].process == one.process and self.rows[i].type is Type.OK
                }
        self.past = [set(one) for one in self.before]
        for _ in self.rows:
            for own in self.past:
                own |= {far for near in own for far in self.past[near]}
        self.round = any(at in own for at, own in enumerate(self.past))

    def exists(self, sees, readers=None):
        """Whether some order explains what the readers read. ``sees(order, at)``: those that a transaction sees."""
        if self.round:
            return False
        chosen = range(len(self.rows)) if readers is None else readers
        for order in permutations(range(len(self.rows))):
            place = {at: i for i, at in enumerate(order)}
            if (
                all(place[i] < place[at] for at in place for i in self.before[at])
                and all(self._explained(order, at, sees(order, at)) for at in chosen)
                and (readers is not None or self._are_beginnings(order))
            ):
                return True
        return False

    def _are_beginnings(self, order):
        """Whether reads of lists, with what a transaction itself appended, are beginnings of one list of each key."""
        if not self.lists:
            return True
        told = [
            (micro.key, tuple(micro.value or ()))
            for one in self.rows
            for micro in one.micros
            if one.type is Type.OK and micro.kind is Kind.READ
        ]
        every = {key: tuple(one for i in order for one in self.left[i].get(key, ())) for key, _ in told}
        return all(every[key][: len(value)] == value for key, value in told)

    def _explained(self, order, at, seen):
        for key, value in self.reads[at].items():
            own = [self.left[i][key] for i in order if i in seen and key in self.left[i]]
            if not self.lists:
                if value != (own[-1] if own else None):
                    return False
                continue
            if value != tuple(one for several in own for one in several):
                return False
        return True


def has_commit_order(rows, *, lists, model):
    """Whether a history can be under read-atomic, causal-cerone or causal; of causal all processes see one order.

    Raises:
        Contradicts: a transaction contradicts itself, or read what nobody left.
    """
    orders = Orders(rows, lists=lists, sessions=model == "causal")
    seen = orders.direct if model == "read-atomic" else orders.past
    return orders.exists(lambda _, at: seen[at])


def has_orders_of_processes(rows, *, lists):
    """Whether each process can have an order of its own that explains what it read (causal memory).

    Raises:
        Contradicts: a transaction contradicts itself, or read what nobody left.
    """
    orders = Orders(rows, lists=lists, sessions=True)
    processes = {one.process for one in orders.rows}

    def explains(process):
        own = [at for at, one in enumerate(orders.rows) if one.process == process]
        return orders.exists(lambda order, at: set(order[: order.index(at)]), own)

    return all(map(explains, processes))


def drawn_by_sight(rng: random.Random, *, lists, most=5):
    """A history in which each transaction sees some of those before it, and now and then reads something else."""
    count, keys = rng.randint(3, most), "xyz"[: rng.choice([1, 2, 2, 2, 3])]
    processes, share, wild = rng.randint(1, count), rng.choice([0.3, 0.5, 0.8]), rng.choice([0.0, 0.2, 0.6])
    rows, left, seen = [], [], []
    for at in range(count):
        sees = {i for i in range(at) if rng.random() < share}
        if rng.random() < 0.5:
            sees |= {far for near in sees for far in seen[near]}
        seen.append(sees)
        micros, own, read = [], {}, {}
        writing = rng.choice([0.8, 0.4, 0.0])
        for key in rng.sample(keys, len(keys)) + rng.choices(keys, k=rng.randint(0, 1)):
            if rng.random() < writing:
                value = 10 * at + len(micros) + 1
                own[key] = (*own.get(key, ()), value)
                micros.append(Micro(Kind.APPEND if lists else Kind.WRITE, key, value))
            elif rng.random() < 0.8 and (lists or key not in own):
                last = max((i for i in sees if key in left[i]), default=-1)
                if rng.random() < wild:
                    last = rng.randint(-1, at - 1)
                last = read.setdefault(key, last)
                before = [one for i in range(last + 1) for one in left[i].get(key, ())]
                value = (*before, *own.get(key, ())) if lists else before[-1] if before else None
                micros.append(Micro(Kind.READ, key, value))
        kind = Type.INFO if rng.random() < 0.1 else Type.OK
        if kind is Type.INFO:
            micros = [Micro(Kind.READ, one.key, known=False) if one.kind is Kind.READ else one for one in micros]
        left.append(own)
        rows.append(
            Transaction(
                process=rng.randrange(processes),
                type=kind,
                invoke=2 * at,
                complete=NEVER if kind is Type.INFO else 2 * at + 1,
                micros=tuple(micros),
                number=at,
            )
        )
    return [one for one in rows if one.micros]


def apart(rows, number):
    """The same history with keys, processes and times of its own, to stand beside others."""
    return [
        msgspec.structs.replace(
            one,
            process=1000 * number + one.process,
            invoke=1000 * number + one.invoke,
            complete=one.complete if one.complete == NEVER else 1000 * number + one.complete,
            micros=tuple(msgspec.structs.replace(micro, key=f"{micro.key}{number}") for micro in one.micros),
        )
        for one in rows
    ]
