"""How long models of objects take on valid and invalid histories of growing size, and Porcupine on the same ones.

Each function runs in a process of its own (``measuring.work``). A history is drawn from a real object with ten clients
whose operations overlap. Seconds are of one thread, reading aside (Porcupine has every processor); ours end in a
verdict or in unknown after as long as Porcupine may take. The verdicts must agree.
"""

import itertools
import random
import tempfile
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import porcupine
from chaos.core.op import Type
from checkers.objects import registry
from checkers.objects.calls import Call, Calls
from checkers.objects.rules import Budget, Rules

CLIENTS = 10
WORDS = {True: "Ok", False: "Illegal", "unknown": "Unknown"}

_RULES = Rules(nil_means="absent", init="", fail_observes=True)

Act = Callable[[random.Random, int], tuple[str, Any, Any, bool]]


def register(values: int | None, *, cas: bool = False) -> Act:
    """Reads and writes; ``values``: so many different ones, None: each is written once."""
    now = ""

    def act(draw: random.Random, number: int) -> tuple[str, Any, Any, bool]:
        nonlocal now
        f = draw.choice(("read", "write", "cas") if cas else ("read", "write"))
        new = str(number if values is None else draw.randrange(values))
        if f == "read":
            return f, None, now, True
        if f == "write":
            now = new
            return f, new, None, True
        old = str(draw.randrange(values or number))
        fits = old == now
        now = new if fits else now
        return f, (old, new), None, fits

    return act


def strings() -> Act:
    """Puts, gets and appends; a put now and then keeps the text short."""
    now = ""

    def act(draw: random.Random, number: int) -> tuple[str, Any, Any, bool]:
        nonlocal now
        f = draw.choice(("get", "get", "append", "put"))
        if f == "get":
            return f, None, now, True
        now = f"{now}x{number}" if f == "append" else f"x{number}"
        return f, f"x{number}", None, True

    return act


def lock() -> Act:
    """Acquires and releases in turn."""
    turns = itertools.cycle(("acquire", "release"))
    return lambda draw, number: (next(turns), None, None, True)  # noqa: ARG005 - all are called alike


def fifo() -> Act:
    """Values that go in once each."""
    inside: deque[str] = deque()

    def act(draw: random.Random, number: int) -> tuple[str, Any, Any, bool]:
        if not inside or (len(inside) < CLIENTS and draw.random() < 0.5):
            inside.append(str(number))
            return "enqueue", str(number), None, True
        return "dequeue", None, inside.popleft(), True

    return act


CASES: dict[str, tuple[str, Callable[[], Act]]] = {
    "register, own values": ("register", lambda: register(None)),
    "register, 5 values": ("register", lambda: register(5)),
    "cas-register, 5 values": ("cas-register", lambda: register(5, cas=True)),
    "kv": ("kv", strings),
    "mutex": ("mutex", lock),
    "fifo-queue": ("fifo-queue", fifo),
}


def history(act: Act, operations: int, *, spoilt: bool) -> list[Call]:
    """A history; ``spoilt``: an answer in the middle is one of long before (or a release is missing)."""
    draw = random.Random(operations)
    free = [0] * CLIENTS
    calls: list[Call] = []
    for number in range(operations):
        client = min(range(CLIENTS), key=free.__getitem__)
        at = 10 * number
        f, argument, output, fits = act(draw, number)
        begun, ended = max(free[client], at - draw.randrange(20)), at + 1 + draw.randrange(20)
        free[client] = ended + 1
        calls.append(Call(number, client, f, argument, output, Type.OK if fits else Type.FAIL, begun, ended))
    if spoilt:
        answers = [i for i, call in enumerate(calls) if call.output is not None]
        if answers:
            early, late = answers[len(answers) // 4], answers[len(answers) // 2]
            old = calls[late]
            calls[late] = Call(
                old.number, old.process, old.f, None, calls[early].output, old.outcome, old.invoke, old.complete
            )
        else:
            del calls[operations // 2]
    return calls


def _own_s(model: str, calls: Calls) -> tuple[float, str]:
    """Seconds of CPU and the verdict."""
    begun_s = time.process_time()
    valid = registry.MODELS[model].check(calls, _RULES, Budget(porcupine.TIMEOUT_S)).valid
    return time.process_time() - begun_s, WORDS[valid]


def time_registers(sizes: list[int], repeats: int) -> dict[str, Any]:
    """Unique writes and reads of one register; ``slope``: the power of the size with which the time grows."""
    seconds = []
    for size in sizes:
        made = history(register(None), size, spoilt=False)
        took = [_own_s("register", Calls(made)) for _ in range(repeats)]
        assert {word for _, word in took} == {"Ok"}
        seconds.append(round(median(one for one, _ in took), 5))
    slope = float(np.polyfit(np.log10(sizes), np.log10(seconds), 1)[0])
    return {"sizes": sizes, "seconds": seconds, "slope": round(slope, 3)}


def compare_with_porcupine(sizes: list[int]) -> dict[str, Any]:
    """Each model on the same histories by both: words and seconds; ``missing``: why there is no Porcupine."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="chaos-models-") as name:
        program = porcupine.built(Path(name))
        if isinstance(program, str):
            return {"rows": [], "missing": program}
        for (case, (model, act)), size, spoilt in itertools.product(CASES.items(), sizes, (False, True)):
            calls = history(act(), size, spoilt=spoilt)
            own_s, own = _own_s(model, Calls(calls))
            word, other_s = porcupine.judged(program, calls, Path(name) / "history.jsonl")
            assert "Unknown" in (word, own) or word == own, f"the verdicts on {case} must agree: {own}, {word}"
            rows.append([case, size, spoilt, own, round(own_s, 4), word, round(other_s, 4)])
    return {"rows": rows}
