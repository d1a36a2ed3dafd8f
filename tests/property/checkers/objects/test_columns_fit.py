"""What columns show of a key, against the models that look at its operations one by one, and an exhaustive search."""

import random

import numpy as np
import pytest
from msgspec.structs import replace
from small_objects import coarse, linearizable, register_step, small, spoilt
from test_object_models import register_apply

from chaos.core.op import Type
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from chaos.models.transactions import bank
from checkers.history.check_input import QueueShard
from checkers.objects import register as registers
from checkers.objects.calls import Calls, end_of
from checkers.objects.columns_fit import counter_fits, set_fits
from checkers.objects.linearization_answer import end_of_order, linearization_answer
from checkers.objects.linearization_search import Step
from checkers.objects.live import FACTS, RULES, SetCheck
from checkers.objects.live_calls import calls_of
from checkers.objects.register_chains import has_order, steps_of
from checkers.objects.registry import MODELS
from checkers.objects.rules import Budget, Rules
from checkers.objects.specs import RegisterSpec
from checkers.txn import live_bank

MS = 1_000_000


def own_values(rng, number):
    """Every value is made once; 0 and values that nobody made yet are expected as well."""
    f = rng.choice(["read", "write", "cas", "cas"])
    return f, None if f == "read" else number + 1 if f == "write" else [
        rng.choice([None, *range(number + 2)]),
        number + 1,
    ]


def drawn_registers(histories):
    rng = random.Random("chains")
    for _ in range(histories):
        calls = small(rng, own_values, register_apply)
        if rng.random() < 0.6:
            calls = [
                replace(one, argument=[rng.randrange(len(calls)), one.argument[1]])
                if one.f == "cas" and one.outcome is Type.OK and rng.random() < 0.1
                else one
                for one in calls
            ]
            yield coarse(rng, spoilt(rng, calls, [None, *range(1, 6)]))
        else:
            yield coarse(rng, Calls(calls))


def decided_and_told(calls, rules):
    """What columns say, and the operations with their steps."""
    own, said = calls.meant(lambda call: registers.meaning(call, rules))
    steps = registers._steps(own, said, registers.freeze(rules.init))
    told = [
        (call, Step(one, one[0] in registers.CHANGES, call.invoke, end_of(call)))
        for call, one in zip(own, said, strict=True)
    ]
    return steps, told


def compared_registers(histories):
    answers = {True: 0, False: 0, None: 0}
    for calls in drawn_registers(histories):
        steps, told = decided_and_told(calls, RULES)
        decided = has_order(steps)
        answers[decided] += 1
        if decided is None:
            continue
        assert decided == linearizable(calls, register_step, None, RULES), calls.all
        if not decided:
            kept, meant = registers._that_matter([call for call, _ in told], [step.what for _, step in told])
            fewer = [
                (c, Step(m, m[0] in registers.CHANGES, c.invoke, end_of(c))) for c, m in zip(kept, meant, strict=True)
            ]
            fast = end_of_order(told, lambda moment, steps=steps: has_order(steps.until(moment)) is True)
            slow = linearization_answer(fewer, lambda some: RegisterSpec(some, ("nil",)), Budget())
            assert fast.found["nonlinearizable"].examples == slow.found["nonlinearizable"].examples, calls.all
    return answers


def test_chains_of_values_agree_with_exhaustive_search():
    answers = compared_registers(1500)
    assert min(answers[True], answers[False]) > 100, answers


@pytest.mark.longer
def test_chains_of_values_agree_with_exhaustive_search_on_many_histories():
    assert sum(compared_registers(60_000).values()) == 60_000


def test_a_value_that_is_made_twice_is_not_decided_by_chains():
    rng, undecided = random.Random(7), 0
    for _ in range(200):
        calls = Calls(small(rng, lambda rng, n: ("write", rng.randrange(3)), register_apply))
        undecided += has_order(decided_and_told(calls, Rules())[0]) is None
    assert undecided > 50


def test_a_long_chain_of_compare_and_sets_is_decided():
    size = 3000
    kinds = np.full(size, registers.CAS, dtype=np.int8)
    moments = np.arange(size, dtype=np.int64)
    steps = registers.Steps(kinds, moments, moments + 1, 2 * moments, 2 * moments + 1)
    assert has_order(steps) is True
    crossed = steps._replace(invoke=steps.invoke.copy(), complete=steps.complete.copy())
    crossed.invoke[[10, 11]], crossed.complete[[10, 11]] = steps.invoke[[11, 10]], steps.complete[[11, 10]]
    assert has_order(crossed) is False
    again = np.where(moments == size - 1, 0, moments + 1)
    assert has_order(steps._replace(new=again)) is None, "the first state is made again"
    assert has_order(steps._replace(value=np.where(moments == 5, size, moments))) is False, "they go round"


def shard_of(rng, f_of, model, columns):
    """A few operations of some clients. ``columns``: name → draws its cell for an operation of a word and type."""
    rows, now, free_at = [], 0, [0] * rng.randint(1, 4)
    for number in range(rng.randint(2, 12)):
        process = rng.randrange(len(free_at))
        begun = max(now, free_at[process] + 1)
        now, done = begun + rng.randint(0, 2), begun + rng.randint(1, 6)
        free_at[process] = done
        kind = rng.choices([Type.OK, Type.FAIL, Type.INFO, Type.NOT_SENT], [16, 1, 1, 0.3])[0]
        row = {"process": process, "f": int(f_of(rng)), "type": int(kind), "invoke_ns": begun, "complete_ns": done}
        rows.append(row | {name: draw(rng, row, number) for name, draw in columns.items()})
    step = rng.choice([1, MS, 2 * MS // 5])
    order = sorted(range(len(rows)), key=lambda one: rows[one]["invoke_ns"])
    table = {name: [rows[one][name] for one in order] for name in rows[0]}
    arrays = {
        name: np.fromiter(cells, dtype=object, count=len(cells)) if isinstance(cells[0], list) else np.array(cells)
        for name, cells in table.items()
    }
    for name in ("invoke_ns", "complete_ns"):
        arrays[name] = arrays[name].astype(np.int64) * step
    return QueueShard(0, arrays, {}), {one.word: int(one) for one in model.F}


def told(read):
    return lambda rng, row, number: rng.choice([1, 1, 1, 1, 1, 0, -1]) if row["f"] == read else -1


def small_counter(rng):
    mix = lambda rng: rng.choice([counter.F.ADD, counter.F.READ])  # noqa: E731
    seen = [0]

    def found(rng, row, number):
        return rng.choice([sum(seen), sum(seen), sum(seen[:-1])]) if row["f"] == counter.F.READ else 0

    def amount(rng, row, number):
        seen.append(rng.randrange(3) if row["f"] == counter.F.ADD and row["type"] == Type.OK else 0)
        return seen[-1]

    return shard_of(rng, mix, counter, {"amount": amount, "found": found, "answer": told(counter.F.READ)})


def test_a_counter_fits_where_the_model_finds_nothing():
    rng, answers = random.Random(3), {True: 0, False: 0}
    for _ in range(600):
        shard, words = small_counter(rng)
        calls = calls_of(shard, words, FACTS["counter"])
        clean = MODELS["counter"].check(calls, RULES, Budget()).valid is True
        assert counter_fits(shard, counter.F.READ) == clean, calls.all
        answers[clean] += 1
    assert min(answers.values()) > 60, answers


def small_set(rng):
    tried = []

    def element(rng, row, number):
        if row["f"] != sets.F.ADD:
            return 0
        tried.append(rng.choice(tried) if tried and rng.random() < 0.03 else number)
        return tried[-1]

    def elements(rng, row, number):
        if row["f"] != sets.F.READ or row["type"] != Type.OK:
            return []
        shown = [one for one in dict.fromkeys(tried) if rng.random() < 0.97]
        return shown + rng.choices([[], [77], tried[:1]], [40, 1, 1])[0]

    mix = lambda rng: rng.choice([sets.F.ADD, sets.F.READ])  # noqa: E731
    answer = lambda rng, row, number: rng.choice([1, 1, 1, 1, -1]) if row["f"] == sets.F.READ else -1  # noqa: E731
    return shard_of(rng, mix, sets, {"element": element, "elements": elements, "answer": answer})


def test_a_set_fits_where_the_model_finds_nothing():
    rng, answers = random.Random(5), {True: 0, False: 0}
    for _ in range(1500):
        shard, words = small_set(rng)
        calls = calls_of(shard, words, FACTS["set"])
        answer = MODELS["set-full"].check(calls, RULES, Budget()) if calls.all else None
        clean = answer is not None and answer.valid is True
        added = [call.argument for call in calls.of("add")]
        fits = set_fits(shard, sets.F.READ)
        assert fits <= clean, calls.all
        if len(set(added)) == len(added):
            assert fits == clean, calls.all
        answers[clean] += 1
    assert min(answers.values()) > 100, answers
    assert SetCheck.judge == "set-full"


def small_bank(rng):
    held = [bank.OPENING] * bank.ACCOUNTS

    def accounts(rng, row, number):
        row["pair"] = rng.sample(range(bank.ACCOUNTS), 2)
        return row["pair"][0]

    def amount(rng, row, number):
        out = rng.randrange(1, 4)
        if row["f"] == bank.F.TRANSFER and row["type"] == Type.OK:
            held[row["pair"][0]] -= out
            held[row["pair"][1]] += out
        return out

    def balances(rng, row, number):
        if row["f"] != bank.F.READ or row["type"] != Type.OK:
            return []
        shown = list(held)
        if rng.random() < 0.05:
            shown[0], shown[1] = shown[0] + 1, shown[1] - rng.choice([1, 2])
        return rng.choices([shown, [], shown[:2]], [40, 1, 1])[0]

    columns = {
        "source": accounts,
        "target": lambda rng, row, number: row["pair"][1],
        "amount": amount,
        "balances": balances,
        "answer": lambda rng, row, number: rng.choice([1, 1, 1, -1]) if row["f"] == bank.F.READ else -1,
    }
    shard, words = shard_of(rng, lambda rng: rng.choice([bank.F.TRANSFER, bank.F.READ]), bank, columns)
    return shard, words


def test_a_bank_fits_where_nothing_is_found():
    rng, answers = random.Random(11), {True: 0, False: 0}
    for _ in range(800):
        shard, words = small_bank(rng)
        calls = calls_of(shard, words, live_bank.FACTS)
        answer = live_bank.bank.check(calls, live_bank.RULES_OF_BANKS, Budget())
        clean = answer.valid is True and not live_bank.out_of_bounds(calls.all)
        fits = live_bank.bank_fits(shard)
        assert fits <= clean, calls.all
        if all(call.output is None or len(call.output) == bank.ACCOUNTS for call in calls.of("read")):
            assert fits == clean, calls.all
        answers[clean] += 1
    assert min(answers.values()) > 100, answers


def small_register(rng):
    columns = {
        "value": lambda rng, row, number: 0 if row["f"] == register.F.READ else number,
        "expected": lambda rng, row, number: rng.randrange(number + 1) if row["f"] == register.F.CAS else 0,
        "found": lambda rng, row, number: rng.choice([number, max(0, number - 1), max(0, number - 2)]),
        "answer": told(register.F.READ),
    }
    mix = lambda rng: rng.choice([register.F.WRITE, register.F.READ, register.F.READ, register.F.CAS])  # noqa: E731
    return shard_of(rng, mix, register, columns)


def test_columns_of_a_register_say_what_its_operations_say():
    rng, answers = random.Random(13), {True: 0, False: 0, None: 0}
    for _ in range(2500):
        shard, words = small_register(rng)
        calls = calls_of(shard, words, FACTS["register"])
        decided = has_order(steps_of(shard))
        assert decided == has_order(decided_and_told(calls, RULES)[0])
        if decided is not None:
            assert decided == (MODELS["register"].check(calls, RULES, Budget()).valid is True), calls.all
        answers[decided] += 1
    assert min(answers[True], answers[False]) > 100, answers
