"""The operations that the page draws one by one, as a short text inside the page.

Columns of numbers are laid out byte by byte, compressed and written as base64; the page's script reads them back
(``report-data.js``). Pure.
"""

import base64
import math
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from chaos.core.op import Type
from chaos.core.series import REFUSED, Points
from checkers.recovery.sample import MOST_NOT_OK
from reports import words
from reports.page.logs import LogRow

TICKS_A_SECOND: Final = 10_000
LATENCY_FLOOR_MS: Final = 0.01
LATENCY_STEPS: Final = 3000
"""Steps of a latency's logarithm; one is a thirtieth of a percent."""
NOWHERE: Final = 255
LINE: Final = 160
"""Characters of an operation in words at most."""
_LARGEST: Final = 65535


class Dot(msgspec.Struct, frozen=True, kw_only=True):
    """One operation. ``t_s`` since the load began; ``latency_ms`` -1: never answered.

    ``f`` and ``type`` are numbers; ``client``, ``process``, ``node`` and ``key`` are -1 where they are not known.
    ``line``: what was asked and answered, in words.
    """

    t_s: float
    latency_ms: float
    f: int
    type: int
    client: int
    node: int
    key: int = -1
    process: int = -1
    error: str = ""
    line: str = ""


class Packed(msgspec.Struct, frozen=True, kw_only=True):
    """``blob``: the operations in order of time. ``count``: how many. ``errors``: their texts, numbered from 1.

    ``places``: where each operation that was added to the sample is among them.
    """

    blob: str
    count: int
    errors: tuple[str, ...]
    places: tuple[int, ...]


def dots_of(points: Points) -> list[Dot]:
    """The sample, one by one."""
    unknown = [-1] * len(points.t_s)
    texts = ["", *points.errors]
    return [
        Dot(
            t_s=t_s,
            latency_ms=latency_ms,
            f=f,
            type=kind,
            client=client,
            node=node,
            key=key,
            process=process,
            error=texts[error],
        )
        for t_s, latency_ms, f, kind, client, node, key, process, error in zip(
            points.t_s,
            points.latency_ms,
            points.f,
            points.type,
            points.client,
            points.node,
            points.key or unknown,
            points.process or unknown,
            points.error or [0] * len(unknown),
            strict=True,
        )
    ]


def not_ok_words(points: Points) -> str:
    """``all 523``, or how many of more than are kept; older files kept fewer."""
    number = sum(kind not in (Type.OK, REFUSED) for kind in points.type)
    return f"all {words.count(number)}" if points.key and number < MOST_NOT_OK else f"{words.count(number)} of those"


def pack_points(sample: Sequence[Dot], added: Sequence[Dot], nodes: int, logs: Sequence[LogRow] = ()) -> Packed:
    """Pack a sample and operations that must be shown beside it, and lines of logs; ``nodes``: how many there are."""
    every = [*sample, *added]
    order = sorted(range(len(every)), key=lambda place: (every[place].t_s, place))
    dots = [every[place] for place in order]
    where = {place: rank for rank, place in enumerate(order)}
    errors = tuple(dict.fromkeys(dot.error for dot in dots if dot.error))
    number = {error: place for place, error in enumerate(errors, 1)}
    ticks = np.array([round(max(0.0, dot.t_s) * TICKS_A_SECOND) for dot in dots], dtype=np.int64)
    lines = {place: " ".join(dot.line.split())[:LINE] for place, dot in enumerate(dots) if dot.line}
    columns = (
        _planes(np.diff(ticks, prepend=0), 4),
        _planes([latency_code(dot.latency_ms) for dot in dots], 2),
        _planes([min(dot.client, _LARGEST) if dot.client >= 0 else _LARGEST for dot in dots], 2),
        _planes([dot.key + 1 for dot in dots], 4),
        _planes([dot.type for dot in dots], 1),
        _planes([dot.f for dot in dots], 1),
        _planes([dot.node if 0 <= dot.node < min(nodes, NOWHERE) else NOWHERE for dot in dots], 1),
        _planes([min(number.get(dot.error, 0), _LARGEST) for dot in dots], 2),
        _planes([dot.process + 1 for dot in dots], 4),
        msgspec.json.encode({"lines": lines, "logs": logs}),
    )
    return Packed(
        blob=base64.b64encode(zlib.compress(b"".join(columns))).decode() if dots or logs else "",
        count=len(dots),
        errors=errors,
        places=tuple(where[len(sample) + place] for place in range(len(added))),
    )


def latency_code(latency_ms: float) -> int:
    """A latency as a number of 16 bits, on a logarithmic scale; 0: never answered."""
    if latency_ms < 0:
        return 0
    return min(_LARGEST, 1 + round(LATENCY_STEPS * math.log1p(latency_ms / LATENCY_FLOOR_MS)))


def _planes(numbers: Iterable[Any] | npt.NDArray[np.int64], width: int) -> bytes:
    """All lowest bytes, then all next ones: what is alike stands together, and compresses."""
    column = np.array(numbers, dtype=np.int64)
    return b"".join((column >> 8 * place & 0xFF).astype(np.uint8).tobytes() for place in range(width))
