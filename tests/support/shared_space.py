"""Spaces of keys in a store that others change too, made up: what a correct store answers, spoiled, and every order.

Written apart from the checker's own timelines, so that one may hold the other to account.
"""

import itertools
import random
from collections.abc import Callable
from typing import Any

from chaos.formats.etcd_robustness import Did, EtcdReport
from chaos.formats.etcd_words import (
    DELETE,
    PUT,
    RANGE,
    Condition,
    Content,
    DeleteOptions,
    KeyHeld,
    Part,
    PartResult,
    PutOptions,
    Ranged,
    RangeOptions,
    RangeRequest,
    Request,
    Response,
    TxnRequest,
    TxnResult,
)
from chaos.formats.operations import NEVER

KEYS = ("0/0", "0/1")
ALL = RangeRequest("0/", "00")
State = dict[str, tuple[str, int]]


def put_part(key: str, value: str) -> Part:
    return Part(PUT, put=PutOptions(key, Content(value)))


def delete_part(key: str) -> Part:
    return Part(DELETE, delete=DeleteOptions(key))


def put(key: str, value: str) -> Request:
    return Request("txn", txn=TxnRequest((), (put_part(key, value),), ()))


def delete(key: str) -> Request:
    return Request("txn", txn=TxnRequest((), (delete_part(key),), ()))


def compare_put(key: str, value: str, expected: int) -> Request:
    looks = (Part(RANGE, range=RangeOptions(key)),)
    return Request("txn", txn=TxnRequest((Condition(key, expected),), (put_part(key, value),), looks))


def move(key: str, value: str, gone: str) -> Request:
    return Request("txn", txn=TxnRequest((), (put_part(key, value), delete_part(gone)), ()))


def get(key: str) -> Request:
    return Request("range", range=RangeRequest(key))


def whole() -> Request:
    return Request("range", range=ALL)


def held_of(state: State, asked: RangeOptions) -> tuple[KeyHeld, ...]:
    own = sorted((key, one) for key, one in state.items() if asked.holds(key))
    return tuple(KeyHeld(key=key, value=Content(value), revision=revision) for key, (value, revision) in own)


def apply(state: State, request: Request, revision: int) -> tuple[State, Response, bool]:
    """The state after an operation, its answer, and whether it changed anything; ``revision``: of a change."""
    if request.range is not None:
        held = held_of(state, request.range)
        return state, Response(range=Ranged(held, len(held))), False
    txn = request.txn
    assert txn is not None
    if not all(state.get(one.key, ("", 0))[1] == one.revision for one in txn.conditions or ()):
        looked = [held_of(state, part.range) for part in txn.failure or ()]
        results = tuple(PartResult(held, len(held)) for held in looked)
        return state, Response(TxnResult(failure=True, results=results)), False
    after, told = dict(state), []
    for part in txn.success or ():
        if part.kind == PUT:
            after[part.put.key] = (part.put.value.text, revision)
            told.append(PartResult())
        else:
            told.append(PartResult(deleted=int(after.pop(part.delete.key, None) is not None)))
    changed = any(part.kind == PUT for part in txn.success or ()) or any(one.deleted for one in told)
    return after, Response(TxnResult(results=tuple(told))), changed


def some_request(rng: random.Random, number: int, state: State) -> Request:
    key, other = rng.sample(KEYS, 2)
    value = rng.choice((str(number), str(number), "0"))
    expected = state.get(key, ("", 0))[1] if rng.random() < 0.6 else rng.choice((0, 5))
    return rng.choice(
        (
            put(key, value),
            put(key, value),
            delete(key),
            compare_put(key, value, expected),
            move(key, str(number), other),
            get(key),
            whole(),
            whole(),
        )
    )


def undoing_request(rng: random.Random, number: int, state: State) -> Request:
    """Mostly changes that undo what another one did."""
    key, other = rng.sample(KEYS, 2)
    return rng.choice((put(key, str(number)), delete(key), move(key, str(number), other), whole(), whole()))


def made_up(
    rng: random.Random,
    operations: int,
    *,
    most_open: int = 2,
    loose: bool = False,
    ask: Callable[[random.Random, int, State], Request] = some_request,
) -> EtcdReport:
    """What a correct store answers; others change it so often that there is always room between two revisions.

    Args:
        rng: where chance comes from.
        operations: how many.
        most_open: so many changes at most have no answer.
        loose: whether reads of one key name the key's revision alone.
        ask: chooses an operation by its number and what is there.
    """
    state: State = {}
    revision, opened, out = 1, 0, []
    for number in range(operations):
        revision += 4
        now = 100 + 10 * number
        call, ret = now - rng.randrange(1, 16), now + rng.randrange(1, 16)
        request = ask(rng, number, state)
        lost = request.txn is not None and opened < most_open and rng.random() < 0.35
        done = not lost or rng.random() < 0.6
        after, answer, changed = apply(state, request, revision + 1)
        if done:
            state, revision = after, revision + changed
        if lost:
            opened, answer, ret = opened + 1, Response(error="lost"), NEVER
        elif loose and request.range is not None and not request.range.end:
            answer = replaced(answer, revision=-1)
        else:
            answer = replaced(answer, revision=revision)
        out.append(Did(number, "", 1, request, answer, call, ret))
    return EtcdReport(operations=out, watches=[])


def replaced(answer: Response, **more: Any) -> Response:
    return Response(
        txn=more.get("txn", answer.txn),
        range=more.get("range", answer.range),
        refused=answer.refused,
        revision=more.get("revision", answer.revision),
        error=answer.error,
    )


def spoiled(rng: random.Random, report: EtcdReport) -> EtcdReport:
    """The same with one answer changed."""
    known = [place for place, did in enumerate(report.operations) if not did.response.error]
    if not known:
        return report
    place = rng.choice(known)
    did, operations = report.operations[place], list(report.operations)
    answer, txn = did.response, did.response.txn
    if answer.range is not None and rng.random() < 0.7:
        answer = replaced(answer, range=_other_keys(rng, answer.range))
    elif txn is not None and txn.failure and rng.random() < 0.6:
        held = _other_keys(rng, Ranged((txn.results or ())[0].held, 0)).held or ()
        answer = replaced(answer, txn=TxnResult(failure=True, results=(PartResult(held, len(held)),)))
    elif txn is not None and any(one.deleted for one in txn.results or ()) and rng.random() < 0.4:
        answer = replaced(answer, txn=TxnResult(results=tuple(PartResult() for _ in txn.results or ())))
    elif answer.revision > 0:
        answer = replaced(answer, revision=max(2, answer.revision + rng.choice((-6, -5, -1, 1, 5))))
    operations[place] = did._replace(response=answer)
    return EtcdReport(operations=operations, watches=[])


def _other_keys(rng: random.Random, told: Ranged) -> Ranged:
    held = list(told.held or ())
    if held and rng.random() < 0.5:
        del held[rng.randrange(len(held))]
    elif held:
        one = rng.randrange(len(held))
        value, revision = rng.choice((held[one].value, Content("0"))), held[one].revision + rng.choice((-5, 0, 5))
        held[one] = KeyHeld(key=held[one].key, value=value, revision=max(2, revision))
    return Ranged(tuple(held), len(held))


def changes(did: Did) -> bool:
    txn = did.response.txn
    if txn is None or txn.failure or did.request.txn is None:
        return False
    puts = any(part.kind == PUT for part in did.request.txn.success or ())
    return puts or any(one.deleted for one in txn.results or ())


def evidence(did: Did) -> int:
    held = (did.response.range.held if did.response.range else ()) or ()
    return did.response.revision if did.response.revision > 0 else max((one.revision for one in held), default=1)


def fits_an_order(report: EtcdReport) -> bool:
    """Whether any revisions for the changes of unknown outcome explain all answers."""
    told = [did for did in report.operations if not did.response.error]
    own: dict[int, Did] = {}
    for did in told:
        for before in told:
            if before.ret < did.call and did.response.revision > 0:
                reached = evidence(before)
                if did.response.revision < reached or (did.response.revision == reached and changes(did)):
                    return False
        if changes(did) and own.setdefault(did.response.revision, did) is not did:
            return False
    opened = [did for did in report.operations if did.response.error]
    last = max((evidence(did) for did in told), default=1) + len(opened)  # nobody need have been told
    ways = []
    for did in opened:
        after = max((evidence(one) for one in told if one.ret < did.call), default=1)
        ways.append([0, *(at for at in range(after + 1, last + 1) if at not in own)])
    for places in itertools.product(*ways):
        taken = [place for place in places if place]
        if len(set(taken)) == len(taken) and _replays(told, own, dict(zip(places, opened, strict=True)), last):
            return True
    return False


def _replays(told: list[Did], own: dict[int, Did], opened: dict[int, Did], last: int) -> bool:
    states: list[State] = [{}, {}]
    for revision in range(2, last + 2):
        state = states[-1]
        did = own.get(revision)
        if did is not None:
            after, answer, changed = apply(state, did.request, revision)
            if not changed or answer.txn != did.response.txn:
                return False
            state = after
        elif revision in opened:
            state, _, changed = apply(state, opened[revision].request, revision)
            if not changed:
                return False
        states.append(state)
    return all(changes(did) or _reads_right(did, told, states) for did in told)


def _reads_right(did: Did, told: list[Did], states: list[State]) -> bool:
    first = last = did.response.revision
    if did.response.revision <= 0:
        first = max((evidence(one) for one in told if one.ret < did.call), default=1)
        behind = [one for one in told if one.call > did.ret and one.response.revision > 0]
        last = min((one.response.revision - changes(one) for one in behind), default=len(states) - 1)
    for revision in range(first, min(last, len(states) - 1) + 1):
        _, answer, changed = apply(states[revision], did.request, revision)
        if not changed and (answer.range, answer.txn) == (did.response.range, did.response.txn):
            return True
    return False
