"""Performs the steps of a final phase against a function, on a clock of its own."""

from chaos.core.clock import NS_PER_S
from chaos.workload.final import Heard, Limits, Wait


def performed(phase, part, answer, *, notes=(), took_s=0.01, limit_s=300.0, keys_missing=False, nodes_missing=False):
    """Do one part to its end.

    ``answer`` gets (f, argument, seconds since the beginning) and gives a completion. Returns why the part is not
    complete, and what was asked: (seconds, f, argument).
    """
    limits = Limits(until_ns=int(limit_s * NS_PER_S), keys_missing=keys_missing, nodes_missing=nodes_missing)
    now_ns, asked = 0, []
    steps = phase.steps(part, notes, limits, now_ns)
    try:
        step = next(steps)
        while True:
            began_ns, answers = now_ns, ()
            if isinstance(step, Wait):
                now_ns += int(step.seconds * NS_PER_S)
            else:
                at_s = now_ns / NS_PER_S
                asked += [(at_s, ask.f, ask.argument) for ask in step.asks]
                answers = tuple(answer(ask.f, ask.argument, at_s) for ask in step.asks)
                now_ns += int(took_s * NS_PER_S)
            step = steps.send(Heard(began_ns, now_ns, answers))
    except StopIteration as end:
        return end.value, asked
