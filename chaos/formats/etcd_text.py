"""Requests and responses of etcd's robustness suite in a line of text."""

from collections.abc import Sequence
from typing import Final

from chaos.formats.etcd_words import DELETE, PUT, Condition, Part, Ranged, RangeOptions, Request, Response, or_empty

SHOWN: Final = 6
"""So many keys of an answer are named."""


def word_of(request: Request) -> str:
    """What a request is called: put, delete, txn, get, range, grant, revoke, compact, defragment."""
    if request.range is not None:
        return "range" if request.range.end else "get"
    if request.txn is not None:
        if not request.txn.conditions and not request.txn.failure and len(or_empty(request.txn.success)) == 1:
            kind = or_empty(request.txn.success)[0].kind
            return {PUT: "put", DELETE: "delete"}.get(kind, "txn")
        return "txn"
    words = {"leaseGrant": "grant", "leaseRevoke": "revoke"}
    return words.get(request.kind, request.kind)


def request_text(request: Request) -> str:
    """What is asked: ``a=1``, ``if a at 3 then a=2 else get a``, ``a to b at revision 5``."""
    if request.range is not None:
        at = f" at revision {request.range.revision}" if request.range.revision else ""
        return f"{range_text(request.range)}{at}"
    if request.txn is not None:
        success = parts_text(or_empty(request.txn.success))
        if word_of(request) in ("put", "delete"):
            return success.removeprefix("delete ")
        if not request.txn.conditions:
            return success
        conditions = " and ".join(map(_condition, or_empty(request.txn.conditions)))
        failure = f" else {parts_text(or_empty(request.txn.failure))}" if request.txn.failure else ""
        return f"if {conditions} then {success or 'nothing'}{failure}"
    lease = request.grant or request.revoke
    if lease is not None:
        return f"lease {lease.id:x}"
    return f"up to {request.compact.revision}" if request.compact is not None else ""


def range_text(options: RangeOptions) -> str:
    """Which keys are read."""
    if not options.end:
        return options.start
    end = f" to {options.end}" if options.end != "\0" else " on"
    return f"{options.start}{end}{f', {options.limit} of them' if options.limit else ''}"


def parts_text(parts: Sequence[Part]) -> str:
    """The operations of a branch."""
    return ", ".join(map(_part, parts))


def _part(part: Part) -> str:
    if part.kind == PUT:
        lease = f" with lease {part.put.lease:x}" if part.put.lease else ""
        return f"{part.put.key}={part.put.value}{lease}"
    return f"delete {part.delete.key}" if part.kind == DELETE else f"get {range_text(part.range)}"


def _condition(one: Condition) -> str:
    if one.version:
        return f"{one.key} has version {one.version}"
    return f"{one.key} is at {one.revision}" if one.revision else f"{one.key} is not there"


def ranged_text(ranged: Ranged) -> str:
    """What a read returned: ``a=1 (revision 3)``."""
    held = or_empty(ranged.held)
    told = [f"{one.key}={one.value} (revision {one.revision})" for one in held[:SHOWN]]
    told += [f"{len(held) - SHOWN} more"] if len(held) > SHOWN else []
    return ", ".join(told) or "nothing"


def answer_text(request: Request, response: Response) -> str:
    """What was answered."""
    if response.error or response.refused:
        return response.error or response.refused
    at = f" at revision {response.revision}" if response.revision > 0 else ""
    if response.range is not None:
        return f"{ranged_text(response.range)}{at}"
    if response.txn is not None and request.txn is not None:
        told = [] if not request.txn.conditions else ["failure" if response.txn.failure else "success"]
        parts = or_empty(request.txn.failure if response.txn.failure else request.txn.success)
        for part, result in zip(parts, or_empty(response.txn.results), strict=False):
            if part.kind == DELETE:
                told.append(f"deleted {result.deleted}")
            elif part.kind != PUT:
                told.append(ranged_text(result))
        return f"{', '.join(told) or 'done'}{at}"
    return f"done{at}"
