"""Histories that end too early, of every model and format: never valid, and invalid only if every longer one is."""

import json
import random
from functools import partial

import pytest

from chaos.formats.missing import Missing
from checkers.imported.judge_file import judge
from checkers.imported.options import Question
from checkers.objects import registry

HISTORIES = 6
PUTS = ("add", "enqueue")


def few(rng, number, put):
    """Few values, so that reads find them."""
    return rng.randrange(3)


def own(rng, number, put):
    """Values of their own where they are put in, mostly; any of those elsewhere."""
    return number if put and rng.random() < 0.95 else rng.randrange(number + 2)


def several(draw):
    return lambda rng, number, put: sorted({draw(rng, number, False) for _ in range(rng.randrange(4))})


def pair(rng, number, put):
    return [rng.randrange(3), rng.randrange(3)]


NOTHING = None
KINDS = {
    "register": {"read": (NOTHING, few), "write": (few, few)},
    "cas-register": {"read": (NOTHING, few), "write": (few, few), "cas": (pair, pair)},
    "mutex": {"acquire": (NOTHING, NOTHING), "release": (NOTHING, NOTHING)},
    "set": {"add": (own, own), "read": (NOTHING, several(own))},
    "set-full": {"add": (own, own), "read": (NOTHING, several(own))},
    "queue": {"enqueue": (own, own), "dequeue": (NOTHING, own)},
    "total-queue": {"enqueue": (own, own), "dequeue": (NOTHING, own)},
    "fifo-queue": {"enqueue": (own, own), "dequeue": (NOTHING, own)},
    "counter": {"add": (few, few), "read": (NOTHING, few)},
    "unique-ids": {"generate": (NOTHING, own)},
    "order": {"enqueue": (own, own), "dequeue": (NOTHING, own)},
}
"""By model and kind of operation: what draws its argument, and what draws its answer."""


def events(rng, kinds):
    """(process, type, f, value) of concurrent clients, in the order of the file."""
    out, open_ = [], {}
    for number in range(rng.randint(2, 24)):
        process = rng.randrange(3)
        if process in open_:
            f, argument, answer = open_.pop(process)
            type_ = rng.choices(["ok", "fail", "info"], [8, 1, 1])[0]
            same = argument is not None
            out.append((process, type_, f, argument if same or type_ != "ok" else answer))
        else:
            f = rng.choice(list(kinds))
            argument, answer = kinds[f]
            value = None if argument is None else argument(rng, number, f in PUTS)
            open_[process] = f, value, None if answer is None else answer(rng, number, False)
            out.append((process, "invoke", f, value))
    return out


def edn(value):
    return "nil" if value is None else str(value).replace(",", "")


def jepsen(events, *, indexed=False, vector=False, shuffled=None):
    lines = [
        f"{{:process {p}, :type :{t}, :f :{f}, :value {edn(v)}{f', :index {i}' if indexed else ''}}}"
        for i, (p, t, f, v) in enumerate(events)
    ]
    if shuffled is not None:
        shuffled.shuffle(lines)
    text = "\n".join(lines) + "\n"
    return f"[{text}]\n" if vector else text


def console(events):
    return "".join(f"INFO  jepsen.util - {p}\t:{t}\t:{f}\t{edn(v)}\n" for p, t, f, v in events)


def openchaos(events):
    told = {"ok": "SUCCESS", "fail": "FAILURE", "info": "UNKNOWN"}
    lines = []
    for i, (p, t, f, v) in enumerate(events):
        value = "null" if v is None else v
        said = "REQUEST" if t == "invoke" else f"RESPONSE\t{told[t]}"
        rest = "null" if t == "invoke" else "1\tnull\t0"
        lines.append(f"{p}\t{f}\t{said}\t{value}\tnull\t{i}\t{rest}\n")
        if f == "dequeue" and t == "ok" and i % 3 == 0:  # another message in answer to the same request
            lines.append(f"{p}\t{f}\tRESPONSE\tSUCCESS\t{v + 1}\tnull\t{i}\t1\tnull\t0\n")
    return "".join(lines)


def jsonl(events):
    begun, lines = {}, []
    for i, (p, t, f, v) in enumerate(events):
        if t == "invoke":
            begun[p] = i, v
            continue
        invoke, argument = begun.pop(p)
        ends = {} if t == "info" else {"complete": i}
        lines.append({"f": f, "type": t, "value": argument, "output": v, "process": p, "invoke": invoke, **ends})
    return "".join(f"{json.dumps(line)}\n" for line in lines)


WRITTEN = {
    "jepsen": jepsen,
    "indexed": partial(jepsen, indexed=True),
    "vector": partial(jepsen, vector=True),
    "porcupine": console,
    "openchaos": openchaos,
    "jsonl": jsonl,
}
FORMAT_OF = {"indexed": "jepsen", "vector": "jepsen"}
QUEUES = ("queue", "total-queue", "fifo-queue", "order")
CASES = [
    (model, written, options)
    for model in KINDS
    for written in WRITTEN
    if written != "openchaos" or model in QUEUES
    for options in ({}, {"linearizable": True}, {"strict": True})
    if not options.get("linearizable") or model in ("set", "set-full", "queue")
]


BECOMES = {"lost-write": "stale-read"}
"""An element that was missing from a read is lost if no later one shows it again."""


def errors(results):
    return {name for name, one in results.anomalies.items() if not one.allowed}


def held(tmp_path, text, question):
    path = tmp_path / "history"
    path.write_text(text)
    return judge(path, question, "local")


EACH = pytest.mark.parametrize(
    ("model", "written", "options"), CASES, ids=lambda one: "-".join(one) if isinstance(one, dict) else one
)


@EACH
def test_a_history_that_ends_too_early_says_only_what_no_longer_one_undoes(tmp_path, model, written, options):
    cut(tmp_path, model, written, options, HISTORIES)


@pytest.mark.longer
@EACH
def test_many_histories_that_end_too_early(tmp_path, model, written, options):
    cut(tmp_path, model, written, options, 150)


def cut(tmp_path, model, written, options, histories):
    rng = random.Random(f"{model} {written} {options}")
    question = Question(format=FORMAT_OF.get(written, written), model=model, **options)
    for _ in range(histories):
        text = WRITTEN[written](events(rng, KINDS[model]))
        whole = held(tmp_path, text, question)
        for at in rng.choices(range(1, len(text)), k=8) if text else ():
            if text[at - 1] in ("]" if written == "vector" else "}\n"):
                continue  # whole records, and nothing shows that there were more
            part = held(tmp_path, text[:at], question)
            assert part.valid in (False, "unknown"), text[:at]
            assert "the file ends" in part.reason
            found = errors(whole)
            assert errors(part) <= found | {BECOMES.get(name, name) for name in found}, (text[:at], text)
            assert part.valid == "unknown" or whole.valid is False


def test_every_model_says_of_each_of_its_anomalies_what_it_outlasts():
    for model in registry.MODELS.values():
        assert model.stands
        assert all(most is None or isinstance(most, Missing) for most in model.stands.values())
