"""The search for an order of commits that explains a small history, by the definitions of models.

The search knows nothing of forced steps. It tries all orders and looks whether each transaction reads what those that
it sees left behind (Cerone, Bernardi and Gotsman, CONCUR 2015; orders of each process: Ahamad et al., 1995).
"""

from itertools import permutations

from chaos.core.op import Type
from checkers.txn.transactions import Kind


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
        if any(at in own for at, own in enumerate(self.past)):
            raise Contradicts

    def exists(self, sees, readers=None):
        """Whether some order explains what the readers read. ``sees(order, at)``: those that a transaction sees."""
        chosen = range(len(self.rows)) if readers is None else readers
        for order in permutations(range(len(self.rows))):
            place = {at: i for i, at in enumerate(order)}
            if all(place[i] < place[at] for at in place for i in self.before[at]) and all(
                self._explained(order, at, sees(order, at)) for at in chosen
            ):
                return True
        return False

    def _explained(self, order, at, seen):
        for key, value in self.reads[at].items():
            own = [self.left[i][key] for i in order if i in seen and key in self.left[i]]
            if not self.lists:
                if value != (own[-1] if own else None):
                    return False
                continue
            if value != tuple(one for several in own for one in several):
                return False
            every = tuple(one for i in order for one in self.left[i].get(key, ()))
            if every[: len(value)] != value:
                return False
        return True


def has_commit_order(rows, *, lists, model):
    """Whether a history can be under read-atomic, causal-cerone or causal; of causal all processes see one order."""
    try:
        orders = Orders(rows, lists=lists, sessions=model == "causal")
    except Contradicts:
        return False
    seen = orders.direct if model == "read-atomic" else orders.past
    return orders.exists(lambda _, at: seen[at])


def has_orders_of_processes(rows, *, lists):
    """Whether each process can have an order of its own that explains what it read (causal memory)."""
    try:
        orders = Orders(rows, lists=lists, sessions=True)
    except Contradicts:
        return False
    processes = {one.process for one in orders.rows}

    def explains(process):
        own = [at for at, one in enumerate(orders.rows) if one.process == process]
        return orders.exists(lambda order, at: set(order[: order.index(at)]), own)

    return all(map(explains, processes))
