"""Transactions as short literals: ``t("ax1 ry12", 0, 5)``."""

from chaos.core.op import Type
from checkers.txn.transactions import NEVER, Kind, Micro, Transaction

OK, FAIL, INFO = Type.OK, Type.FAIL, Type.INFO


def micro(word, *, lists, known):
    """``ax1``: append 1 to x; ``wx1``: write it; ``rx12``: a list of 1 and 2, or the value 12; ``rx``: nothing."""
    kind, key, rest = word[0], word[1], word[2:]
    if kind != "r":
        return Micro(Kind.APPEND if kind == "a" else Kind.WRITE, key, int(rest))
    if not known:
        return Micro(Kind.READ, key, known=False)
    value = tuple(int(digit) for digit in rest) if lists else (int(rest) if rest else None)
    return Micro(Kind.READ, key, value)


def t(text, invoke, complete, process=None, kind=OK, *, lists=True):
    """One transaction; by default each is a process of its own."""
    return Transaction(
        process=invoke if process is None else process,
        type=kind,
        invoke=invoke,
        complete=NEVER if kind is INFO else complete,
        micros=tuple(micro(word, lists=lists, known=kind is OK) for word in text.split()),
        number=invoke,
    )


def r(text, invoke, complete, process=None, kind=OK):
    """One transaction of registers."""
    return t(text, invoke, complete, process, kind, lists=False)
