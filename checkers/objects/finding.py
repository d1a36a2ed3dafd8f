"""The answer of a model about one object.

Anomalies carry the names of docs/semantics.md. Does not combine objects; ``registry`` does.
"""

from typing import Any

import msgspec

from chaos.core.verdict import UNKNOWN, Valid
from checkers.objects.calls import Call


class Found(msgspec.Struct, kw_only=True):
    """All occurrences of one anomaly: how many, whether they are allowed, and some of them.

    ``examples``: a sentence each, with the operations that show it, the guilty one first. ``order``: the numbers of the
    first example's operations in an order that explains all of them but the guilty one, where one was looked for.
    """

    count: int
    allowed: bool = False
    examples: list[tuple[str, tuple[Call, ...]]] = []
    order: tuple[int, ...] = ()


class Answer(msgspec.Struct, kw_only=True):
    """What a model says of one object. ``reason``: why unknown, else empty. ``facts``: figures worth telling."""

    found: dict[str, Found] = {}
    reason: str = ""
    facts: dict[str, Any] = {}

    @property
    def valid(self) -> Valid:
        """False beats unknown beats true."""
        if any(not one.allowed and one.count for one in self.found.values()):
            return False
        return UNKNOWN if self.reason else True


EXAMPLES = 8
"""So many occurrences of an anomaly are told; all are counted."""


def show(value: Any) -> str:
    """A value in words: collections as EDN has them."""
    if isinstance(value, list | tuple):
        return f"[{' '.join(map(show, value))}]"
    if isinstance(value, set | frozenset):
        return f"#{{{' '.join(sorted(map(show, value)))}}}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{show(key)} {show(one)}' for key, one in value.items())}}}"
    return "nil" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def call_text(call: Call) -> str:
    """An operation in words: ``write 3 (op 17, process 2)``."""
    detail = call.argument if call.argument is not None else call.output
    what = call.f if detail is None else f"{call.f} {show(detail)}"
    return f"{what} (op {call.number}, process {call.process})"
