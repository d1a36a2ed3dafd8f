"""An operation of an anomaly in words, from the row that ``results.json`` keeps of it. Pure."""

import math
from typing import Any, Final

from chaos.models.log.words import SENDS
from reports.words import cell_text

SENT: Final = tuple(f.word for f in SENDS)


def first_value(op: dict[str, Any], *names: str) -> Any:
    """The first of these columns that says something."""
    for name in names:
        if op.get(name) is not None and op.get(name) != -1:
            return op[name]
    return None


def span_of(op: dict[str, Any]) -> tuple[float, float | None] | None:
    """When an operation was invoked and completed, in seconds; None if that is not known."""
    start, end = first_value(op, "invoke_s", "start_s", "scheduled_s"), first_value(op, "complete_s", "end_s")
    return None if start is None else (float(start), None if end is None or not math.isfinite(end) else float(end))


def op_words(op: dict[str, Any], around: int | None = None, value: str | None = None) -> str:
    """An operation as a person would say it: ``send 5:233 → 1204 (b1)``, ``poll 3…9, 6 of 7 records: nothing at 3``.

    What is no log has the words of its model, ``cas k4 2->7 (n1)``, or of its call, ``read → 1``. ``around`` is the
    offset and ``value`` the message that matters: a read says what it returned there, and where it returned that.
    """
    f, kind = str(op.get("f", "?")), str(op.get("type", "?"))
    node = f" ({op['node']}{', pinned client' if op.get('pinned') else ''})" if op.get("node") else ""
    why = f": {op['error']}" if op.get("error") else ""
    if "what" in op or "output" in op:
        return f"{op.get('what') or _call_words(op, f, kind)}{why}{node}"
    if f in SENT:
        told = {"ok": f" → {first_value(op, 'offset') if f == 'send' else 'ok'}{node}", "fail": f"{why}{node}"}
        return f"{_sent_words(op)}{told.get(kind, ' → ?')}"
    if f in ("pop", "ack", "extend") or (kind == "ok" and f in ("commit", "committed-read")):
        return f"{f}{_consumer_words(op, f) or why}{node}"
    start, stop = covered_offsets(op)
    if kind != "ok":
        return f"{f}{'' if start is None else f' from {start}'}{_words_before_end(op, why, around)}{node}"
    if start is None or stop is None or stop <= start:
        return f"{f}{'' if start is None else f' from {start}'}: nothing{node}"
    return f"{f} {start}…{stop - 1}{_missing_words(op, stop - start)}{_answer_words(op, around, value)}{node}"


def _missing_words(op: dict[str, Any], span: int) -> str:
    """How many of the offsets that a read covered it returned, where that is not all of them."""
    count = op.get("count")
    return f", {count} of {span} records" if isinstance(count, int) and 0 <= count < span else ""


def _call_words(op: dict[str, Any], f: str, kind: str) -> str:
    """A call of an object and its answer: ``read → 1``, ``cas 4, 1 → ?``."""
    asked = "" if op.get("argument") is None else f" {cell_text(op['argument'])}"
    said = "?" if kind == "info" else cell_text(op.get("output"))
    return f"{f}{asked}{f' → {said}' if said else ''}"


def _words_before_end(op: dict[str, Any], why: str, around: int | None) -> str:
    """What a read that ended badly had returned at the offset that matters, and why it ended."""
    at = None if around is None else listed_records(op).get(around)
    return why if at is None else f": {at}, then{why.removeprefix(':') or ' no answer'}"


def listed_records(op: dict[str, Any]) -> dict[int, str]:
    """The records listed of a read: offset → ``offset=value``, all of them where it returned several there."""
    found: dict[int, str] = {}
    for text in map(str, op.get("records") or ()):
        if place := text.partition("=")[0]:
            found[int(place)] = f"{found[int(place)]} and {text}" if int(place) in found else text
    return found


def _consumer_words(op: dict[str, Any], f: str) -> str:
    """What a group's member was told or said, a pop returned or is said of its message; empty if not known."""
    if f in ("commit", "committed-read"):
        return f" {op.get('offset')}" if f == "commit" else f" → {op.get('committed', 'none')}"
    about = f" {op['value']}" if op.get("value") else ""
    given = " ".join(map(str, op.get("records") or ()))
    if op.get("type") != "ok":
        about = about or (f": {given}, then" if given else "")
        return f"{about}{':' if not given else ''} {op['error']}" if about and op.get("error") else about
    return about or f": {given or 'nothing'}"


def _sent_words(op: dict[str, Any]) -> str:
    """What was asked for by a send: ``schedule 5:233 for 12.0 s``, ``transact 5:234, rollback``."""
    text = f"{op.get('f')} {op.get('value')}"
    if op.get("deliver_s") is not None:
        return f"{text} for {float(op['deliver_s']):.1f} s"
    return f"{text}, {op['decides']}" if op.get("decides") else text


def covered_offsets(op: dict[str, Any]) -> tuple[int | None, int | None]:
    """The offset at which a read began and the one after the last it covered; for a send its own."""
    start, stop = first_value(op, "from", "offset", "min"), first_value(op, "next", "next_offset")
    if op.get("f") in SENT and start is not None:
        stop = int(start) + 1
    return None if start is None else int(start), None if stop is None else int(stop)


def _answer_words(op: dict[str, Any], around: int | None, value: str | None) -> str:
    """What a read returned at the offset that matters, and where it returned the message, if that is known."""
    records, (start, stop), listed = op.get("records"), covered_offsets(op), listed_records(op)
    told = [text for offset, text in sorted(listed.items()) if offset == around or text == f"{offset}={value}"]
    if told:
        return f": {', '.join(told)}"
    if around is None or records is None or start is None or stop is None or not start <= around < stop:
        return ""
    # Only some of the records may be listed: then one is missing for certain only between two that are.
    whole = bool(records) and op.get("count") == len(records)
    return f": nothing at {around}" if whole or (listed and min(listed) < around < max(listed)) else ""
