"""A hunt's records, how it goes on, and when it ends; runs are answered by rules, but for one test."""

import msgspec
import pytest

from chaos.core.errors import HistoryError, UsageError
from chaos.hunt.corpus import KEPT_MOST, Corpus, Record, kept_in, seed_of
from chaos.hunt.hunt import Asked, Hunt
from chaos.hunt.replay import replay
from chaos.hunt.setting import setting_of
from chaos.hunt.trial import Trial

ABOUT = {"seed": 5, "system": "minimq"}
ASKED = Asked(budget_s=600.0, runs=6, jobs=1, stop=True)


@pytest.fixture(scope="module")
def setting():
    return setting_of({"system": "minimq", "backend": "sim", "workloads": ("queue",), "time_limit_s": 5.0})


class Answers:
    """Makes no run: says FAIL for some numbers."""

    def __init__(self, tmp_path, setting, fails=(), took_s=0.0):
        self.store, self.setting, self.fails, self.took_s = tmp_path, setting, fails, took_s
        self.made, self.found = [], []

    def draw(self, number):
        self.made.append(number)
        return self.setting.drawn(5, number)

    def perform(self, base, candidate, room):
        room.mkdir(parents=True)
        number = int(room.name)
        if number in self.fails:
            return Trial(verdict="FAIL", anomalies=("lost-write",), sentence="lost", folder=room, took_s=self.took_s)
        return Trial(verdict="PASS", folder=room, took_s=self.took_s)

    def keep(self, trial, base, candidate):
        return trial.folder

    def hunt(self, corpus, **changes):
        said = []
        asked = msgspec.structs.replace(ASKED, **changes)
        hunt = Hunt(
            self.draw,
            corpus,
            self.store,
            asked,
            said.append,
            lambda made, folder: self.found.append(made.number),
            self.perform,
            self.keep,
        )
        hunt.go()
        return hunt, said


def test_a_hunt_stops_with_its_first_find_and_goes_on_where_it_stopped(tmp_path, setting):
    answers = Answers(tmp_path, setting, fails=(2, 4))
    hunt, said = answers.hunt(Corpus(tmp_path / "corpus", ABOUT))
    assert (answers.made, answers.found, hunt.finds) == ([0, 1, 2], [2], 1)
    assert said[-1].startswith("3 runs: 2 PASS, 1 FAIL, 0 UNKNOWN")
    answers.hunt(Corpus(tmp_path / "corpus", ABOUT))
    assert (answers.made, answers.found) == ([0, 1, 2, 3, 4], [2, 4])
    assert [record.number for record in Corpus(tmp_path / "corpus", ABOUT).records] == [0, 1, 2, 3, 4]


def test_a_hunt_that_keeps_going_makes_all_its_runs(tmp_path, setting):
    answers = Answers(tmp_path, setting, fails=(0, 3))
    answers.hunt(Corpus(tmp_path / "corpus", ABOUT), stop=False)
    assert (answers.made, answers.found) == (list(range(6)), [0, 3])


def test_numbers_that_are_missing_come_first(tmp_path, setting):
    corpus = Corpus(tmp_path / "corpus", ABOUT)
    for number in (0, 2, 3):
        corpus.add(Record(number=number, seed=1, workload="queue", faults=(), verdict="PASS", took_s=1.0))
    answers = Answers(tmp_path, setting)
    answers.hunt(corpus, runs=2)
    assert answers.made == [1, 4]


def test_no_run_begins_that_would_end_after_the_budget(tmp_path, setting):
    answers = Answers(tmp_path, setting, took_s=700.0)
    answers.hunt(Corpus(tmp_path / "corpus", ABOUT))
    assert answers.made == [0]


def test_what_an_interrupt_ended_is_made_again(tmp_path, setting):
    answers = Answers(tmp_path, setting)
    answers.perform = lambda base, candidate, room: Trial(interrupted=True)
    hunt, _ = answers.hunt(Corpus(tmp_path / "corpus", ABOUT))
    assert hunt.interrupted
    assert Corpus(tmp_path / "corpus", ABOUT).records == []


def test_a_corpus_is_of_one_hunt_and_forgives_a_line_that_was_cut_off(tmp_path):
    folder = tmp_path / "corpus"
    assert seed_of(folder) is None
    corpus = Corpus(folder, ABOUT)
    corpus.add(Record(number=0, seed=1, workload="queue", faults=("leader-kill",), verdict="PASS", took_s=1.0))
    assert seed_of(folder) == 5
    with (folder / "runs.jsonl").open("ab") as file:
        file.write(b'{"number":1,"se')
    again = Corpus(folder, ABOUT)
    assert again.done() == {0}
    again.add(Record(number=1, seed=1, workload="queue", faults=(), verdict="FAIL", took_s=1.0))
    assert Corpus(folder, ABOUT).done() == {0, 1}
    with pytest.raises(UsageError, match="it is of a hunt with other options"):
        Corpus(folder, {**ABOUT, "seed": 6})
    (folder / "runs.jsonl").write_bytes(b"{}\n")
    with pytest.raises(HistoryError, match=r"runs.jsonl:1"):
        Corpus(folder, ABOUT)
    (folder / "hunt.json").write_bytes(b"[]")
    with pytest.raises(UsageError, match=r"its hunt.json is damaged"):
        seed_of(folder)


def test_kept_plans_are_bounded(tmp_path, setting):
    corpus = Corpus(tmp_path / "corpus", ABOUT)
    for number in range(KEPT_MOST - 1):
        place = tmp_path / "corpus" / "kept" / f"old-{number}"
        place.mkdir()
        for name in ("config.yaml", "plan.jsonl"):
            (place / name).touch()
    drawn = setting.drawn(5, 0)
    assert corpus.keep("a", *drawn) is not None
    assert corpus.keep("b", *drawn) is None
    assert corpus.keep("a", *drawn) is not None
    assert len(kept_in(tmp_path / "corpus")) == KEPT_MOST


@pytest.mark.parametrize(
    ("verdicts", "code", "last"),
    [
        (("PASS", "PASS"), 0, "2 plans: 0 fail"),
        (("PASS", "UNKNOWN"), 2, "2 plans: 0 fail"),
        (("broke", "FAIL"), 1, "2 plans: 1 fail"),
    ],
)
def test_a_corpus_is_a_suite(tmp_path, setting, verdicts, code, last):
    corpus = Corpus(tmp_path / "corpus", ABOUT)
    wanted = {}
    for number, verdict in enumerate(verdicts):
        base, candidate = setting.drawn(5, number)
        corpus.keep(str(number), base, candidate)
        wanted[str(number)] = candidate, verdict
    said = []

    def perform(base, candidate, room):
        assert candidate == wanted[room.name][0], "the plan, the load and the seed are those that were kept"
        return Trial(verdict=wanted[room.name][1])

    assert replay(tmp_path / "corpus", tmp_path, (), 60.0, said.append, perform) == code
    assert said[-1] == last
    slow = lambda base, candidate, room: Trial(verdict="PASS", took_s=100.0)  # noqa: E731
    assert replay(tmp_path / "corpus", tmp_path, (), 60.0, said.append, slow) == 2
    assert said[-1] == "2 plans: 0 fail, 1 not run"


def test_a_corpus_without_plans_is_refused(tmp_path):
    with pytest.raises(UsageError, match="it keeps no plan"):
        replay(tmp_path, tmp_path, (), 60.0, lambda _: None)


@pytest.mark.broad
def test_runs_at_the_same_time_are_those_of_one_after_the_other(tmp_path):
    found = {}
    for jobs in (1, 2):
        setting = setting_of(
            {
                "system": "minimq",
                "backend": "sim",
                "store": str(tmp_path / str(jobs)),
                "workloads": ("queue",),
                "time_limit_s": 5.0,
                "rate": 20.0,
                "bug": "ack-before-replicate",
            }
        )
        (tmp_path / str(jobs)).mkdir()
        corpus = Corpus(tmp_path / f"corpus-{jobs}", {**setting.about, "seed": 1})
        asked = Asked(budget_s=86400.0, runs=2, jobs=jobs, stop=False)
        Hunt(
            lambda number, s=setting: s.drawn(1, number), corpus, tmp_path / str(jobs), asked, print, lambda *_: None
        ).go()
        told = [msgspec.structs.replace(one, took_s=0.0, store="") for one in corpus.records]
        found[jobs] = sorted(told, key=lambda one: one.number)
    assert found[1] == found[2]
    assert {one.verdict for one in found[1]} <= {"PASS", "FAIL"}
