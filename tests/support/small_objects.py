"""Small histories of one object, and an exhaustive search over all orders that decides them.

The search is the definition of linearizability, without any of the short cuts of ``checkers.objects``: it is
exponential and only here to be compared with.
"""

import random
from functools import partial

from msgspec.structs import replace

from chaos.core.op import Type
from chaos.formats.operations import NEVER
from checkers.objects.calls import Call, Calls, freeze


def register_step(state, call, rules):
    """The states that the operation may leave, or None if a register would not have answered so."""
    if call.f == "read":
        blind = call.output is None and rules.nil_means == "any"
        return (state,) if call.outcome is not Type.OK or blind or state == call.output else None
    if call.f == "write":
        return (call.argument,)
    old, new = call.argument
    if call.outcome is Type.FAIL:
        return (state,) if state != old else None
    if call.outcome is Type.INFO:
        return (new if state == old else state,)
    return (new,) if state == old else None


def mutex_step(state, call, rules):
    locked = bool(state)
    if (call.f == "acquire") == locked:
        return None
    return (not locked,)


def fifo_step(state, call, rules):
    if call.f == "enqueue":
        return ((*state, call.argument),)
    if call.outcome is Type.INFO:
        return (state[1:],) if state and rules.blind_takes else None
    return (state[1:],) if state and state[0] == call.output else None


def text_step(state, call, rules):
    if call.f == "get":
        blind = call.output is None and rules.nil_means == "any"
        return (state,) if call.outcome is not Type.OK or blind or state == (call.output or "") else None
    return (call.argument if call.f == "put" else state + call.argument,)


def several_step(state, call, rules):
    """Registers by name, written and read together."""
    held, ok = dict(state), call.outcome is Type.OK
    for word, key, value in call.output if ok and call.output is not None else call.argument:
        blind = not ok or (value is None and rules.nil_means == "any")
        if word == "w":
            held[key] = value
        elif not blind and held.get(key) != value:
            return None
    return (tuple(sorted(held.items())),)


def set_step(state, call, rules):
    if call.f == "add":
        return (state | {call.argument},)
    blind = call.output is None and rules.nil_means == "any"
    return (state,) if call.outcome is not Type.OK or blind or state == frozenset(call.output or ()) else None


def bag_step(state, call, rules):
    """An unordered queue; a dequeue of which nobody knows what it took may have taken anything that is there."""
    if call.f == "enqueue":
        return (tuple(sorted((*state, call.argument))),)
    blind = call.outcome is Type.INFO
    return [
        state[:at] + state[at + 1 :]
        for at, value in enumerate(state)
        if (rules.blind_takes if blind else value == call.output)
    ]


def linearizable(calls, step, init, rules):
    """Whether some order of the operations respects real time and the object: those that ended must be in it."""
    own = [c for c in calls.all if c.outcome is not Type.FAIL or (c.f == "cas" and rules.fail_observes)]
    must = frozenset(i for i, c in enumerate(own) if c.outcome is not Type.INFO)
    dead = set()

    def end(call):
        return NEVER if call.outcome is Type.INFO else call.complete

    def search(done, state):
        if must <= done:
            return True
        if (done, freeze(state)) in dead:
            return False
        horizon = min(end(c) for i, c in enumerate(own) if i not in done)
        for i, call in enumerate(own):
            if i in done or call.invoke > horizon:
                continue
            if any(search(done | {i}, following) for following in step(state, call, rules) or ()):
                return True
        dead.add((done, freeze(state)))
        return False

    return search(frozenset(), init)


def small(rng: random.Random, make, apply):
    """A history of a real object with concurrent clients, sometimes spoilt.

    ``make(rng, number)`` draws (f, argument); ``apply(state, f, argument)`` gives (state, output, ok).
    """
    processes = rng.randint(2, 4)
    now, state, open_ = 0, None, {}
    calls = []
    for number in range(rng.randint(3, 9)):
        process = rng.randrange(processes)
        if process in open_:
            calls.append(open_.pop(process)(now))
            now += 1
        f, argument = make(rng, number)
        begun, now = now, now + 1
        state, output, ok = apply(state, f, argument)
        outcome = Type.INFO if rng.random() < 0.15 else Type.OK if ok else Type.FAIL
        told = output if outcome is Type.OK else None
        open_[process] = partial(Call, number, process, f, argument, told, outcome, begun)
    for process in sorted(open_):
        calls.append(open_[process](now))
        now += 1
    return calls


def coarse(rng: random.Random, calls: Calls) -> Calls:
    """The same on a clock that tells fewer instants apart: what falls together is concurrent."""
    step = rng.choice([1, 1, 1, 2, 3, 5])
    return Calls(
        replace(one, invoke=one.invoke // step, complete=one.complete // step if one.complete < NEVER else one.complete)
        for one in calls.all
    )


def spoilt(rng: random.Random, calls, values):
    """Perhaps another answer, perhaps a shorter operation."""
    out = list(calls)
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        i = rng.randrange(len(out))
        call = out[i]
        if call.output is not None and rng.random() < 0.6:
            out[i] = replace(call, output=rng.choice(values))
        elif call.outcome is Type.FAIL and rng.random() < 0.7:
            out[i] = replace(call, outcome=Type.OK, output=rng.choice(values))
        elif rng.random() < 0.5:
            out[i] = replace(call, invoke=max(0, call.invoke - rng.randint(0, 3)))
        else:
            out[i] = replace(call, complete=call.complete + rng.randint(0, 4))
    return Calls(out)
