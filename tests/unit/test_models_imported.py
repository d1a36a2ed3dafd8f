"""A history of another tool, judged: read, parted by key, under its own tool's conventions."""

import pytest

from chaos.core.formats.registry import read
from checkers.models.imported import objects, rules
from checkers.models.registry import MODELS, merged
from checkers.models.rules import Budget


def judged(path, format_, model, *, independent=False):
    history = read(path, format_, independent=independent)
    parts = ((key, MODELS[model](calls, rules(history), Budget(5))) for key, calls in objects(history))
    return merged(parts)


NIL_AFTER_WRITE = [
    (0, "invoke", "write", "1"),
    (0, "ok", "write", "1"),
    (1, "invoke", "read", "nil"),
    (1, "ok", "read", "nil"),
]
FAILED_CAS = [
    (0, "invoke", "write", "1"),
    (0, "ok", "write", "1"),
    (1, "invoke", "cas", "[1 2]"),
    (1, "fail", "cas", "[1 2]"),
]


@pytest.mark.parametrize("steps", [NIL_AFTER_WRITE, FAILED_CAS])
def test_what_a_result_means_goes_with_the_notation(tmp_path, steps):
    console, edn = tmp_path / "etcd.log", tmp_path / "history.edn"
    console.write_text("".join(f"INFO  jepsen.util - {p}\t:{t}\t:{f}\t{v}\n" for p, t, f, v in steps))
    edn.write_text("".join(f"{{:process {p}, :type :{t}, :f :{f}, :value {v}}}\n" for p, t, f, v in steps))
    assert judged(console, "porcupine", "register").valid is False
    assert judged(edn, "jepsen", "register").valid is True


def test_keys_are_objects_of_their_own_and_numbers_are_where_people_look(tmp_path):
    path = tmp_path / "history.edn"
    path.write_text(
        "\n{:process 0, :type :invoke, :f :write, :value [:a 1]}\n"
        "{:process 1, :type :invoke, :f :read, :value [:b nil]}\n"
        "{:process 1, :type :ok, :f :read, :value [:b 1]}\n"
    )
    history = read(path, "jepsen", independent=True)
    assert [(key, [call.number for call in calls.all]) for key, calls in objects(history)] == [(":a", [2]), (":b", [3])]
    answer = judged(path, "jepsen", "register", independent=True)
    assert answer.valid is False
    ((sentence, _),) = next(iter(answer.found.values())).examples
    assert sentence.startswith("key :b: ")
