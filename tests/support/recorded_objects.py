"""Small wrong histories of registers, sets, counters and transactions on several nodes under a fault, as literals.

Each is a literal of ``coordination_histories``: what is wrong was answered by b2, which fault 1 had cut off.
"""

from typing import Any, Final

KILLED: Final = [0.5, 0.8, "kill", "b3"]
CUT: Final = [2.0, 8.0, "partition", "b2"]


def _literal(model: str, workload: str, check: str, *ops: dict[str, Any]) -> dict[str, Any]:
    """Clients take turns, so that a client is no process."""
    own = [{"client": 3 + place % 2, **op} for place, op in enumerate(ops)]
    return {"name": workload, "model": model, "workload": workload, "check": check, "faults": [KILLED, CUT], "ops": own}


def _register(at: float, node: str, **op: Any) -> dict[str, Any]:
    return {"at": [at, round(at + 0.05, 3)], "key": 4, "node": node, "ok": None, **op}


REGISTER: Final = _literal(
    "register",
    "register",
    "register",
    _register(1.0, "b1", write={"value": 1}),
    _register(1.2, "b2", read=None, given={"value": 1}),
    _register(3.0, "b1", write={"value": 2}),
    {"at": [3.2, 6.2], "key": 4, "client": 9, "cas": {"expected": 7, "value": 8}, "info": "no answer in 3 s"},
    _register(3.4, "b1", read=None, given={"value": 2}),
    _register(4.0, "b2", read=None, given={"value": 1}),
    _register(9.0, "b1", read=None, given={"value": 2}),
)
"""The read at 4.0 s is stale."""


def _element(at: float, node: str, **op: Any) -> dict[str, Any]:
    return {"at": [at, at + 0.05], "node": node, "ok": None, **op}


STALE_SET: Final = _literal(
    "set",
    "set",
    "set",
    _element(1.0, "b1", add={"element": 1}),
    _element(3.0, "b1", add={"element": 2}),
    _element(3.2, "b1", add={"element": 3}),
    _element(4.0, "b2", read=None, given={"elements": [1]}),
    _element(9.0, "b1", read=None, given={"elements": [1, 2, 3]}),
)
"""The read at 4.0 s misses two elements."""
LOST_SET: Final = _literal(
    "set",
    "set",
    "set",
    _element(1.0, "b2", add={"element": 1}),
    _element(3.0, "b1", add={"element": 2}),
    _element(9.0, "b1", read=None, given={"elements": [2]}),
)
"""The node that acknowledged element 1 is cut off afterwards."""
COUNTER: Final = _literal(
    "counter",
    "counter",
    "counter",
    _element(1.0, "b1", add={"amount": 2}),
    _element(3.0, "b1", add={"amount": 3}),
    _element(4.0, "b2", read=None, given={"value": 2}),
    _element(9.0, "b1", read=None, given={"value": 5}),
)
"""The read at 4.0 s is below what was acknowledged."""


def _transaction(at: float, node: str, word: str, micros: list[Any], seen: list[Any]) -> dict[str, Any]:
    return _element(at, node, **{word: {"micros": micros}}, given={"seen": seen})


def _append(key: int, value: int) -> dict[str, int]:
    return {"do": 1, "key": key, "value": value}


def _read(key: int) -> dict[str, int]:
    return {"do": 0, "key": key}


TRANSACTIONS: Final = _literal(
    "transaction",
    "list-append",
    "transactions",
    _transaction(1.0, "b1", "list-txn", [_append(0, 1)], [None]),
    _transaction(3.0, "b1", "list-txn", [_append(0, 2)], [None]),
    _transaction(3.5, "b1", "list-read", [_read(0)], [[1, 2]]),
    _transaction(4.0, "b2", "list-read", [_read(0)], [[1]]),
    _transaction(9.0, "b1", "list-read", [_read(0)], [[1, 2]]),
)
"""The transaction at 4.0 s reads what was before the one at 3.0 s: a circle in real time."""
