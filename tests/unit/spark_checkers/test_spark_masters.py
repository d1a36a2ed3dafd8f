"""Where Spark runs, what is shipped there, and what it says when it ends badly: all that needs no JVM."""

import math
import socket
import zipfile

import msgspec
import pytest
from click.testing import CliRunner
from repository import HISTORIES

from chaos.cli.check import check_command
from chaos.core.errors import CapabilityError, ChaosError, HistoryError, UsageError
from chaos.testing.history_files import load_history, write_run_folder
from checkers.engine.installed_checks import panel
from checkers.engine.local_engine import Duty
from checkers.history.check_input import Context
from checkers.history.shards import run_of, workers_in
from spark_checkers import masters, retry_rounds, session, shipping
from spark_checkers.failure_reasons import cause, last_words
from spark_checkers.files import limit_s
from spark_checkers.masters import Where
from spark_checkers.tasks import Failed, perform


@pytest.fixture
def vacant():
    """The port of nobody."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@pytest.mark.parametrize(
    ("master", "meant"),
    [("local", "local[1,4]"), ("local[3]", "local[3,4]"), ("local[*]", "local[*,4]"), ("local[2,9]", "local[2,9]")],
)
def test_local_masters_repeat_what_failed(master, meant):
    assert masters.resolve_master(Where(master)) == Where(meant)


@pytest.mark.parametrize("master", ["spark://a:7077", "spark://a:7077,b:7078", "yarn", "k8s://https://x:6443"])
def test_masters_elsewhere_are_left_as_they_are(master):
    assert masters.resolve_master(Where(master, "10.0.0.1")) == Where(master, "10.0.0.1")


@pytest.mark.parametrize("master", ["", "locale", "local[]", "spark:/a", "spark://a", "spark://a:b", "spark://a:70770"])
def test_what_is_no_master_is_refused(master):
    with pytest.raises(UsageError, match="--master"):
        masters.resolve_master(Where(master))


def test_only_executors_elsewhere_need_an_address():
    with pytest.raises(UsageError, match="--driver-host"):
        masters.resolve_master(Where("local[2]", "10.0.0.1"))


def test_one_of_several_masters_is_enough(vacant):
    with socket.create_server(("127.0.0.1", 0)) as there:
        masters.reach(f"spark://127.0.0.1:{vacant},127.0.0.1:{there.getsockname()[1]}")
    with pytest.raises(ChaosError, match=r"no Spark master at .* refused"):
        masters.reach(f"spark://127.0.0.1:{vacant}")
    masters.reach("local[2]")


def test_the_driver_is_where_executors_can_reach_it():
    assert masters.settings(Where("spark://127.0.0.1:7077"))["spark.driver.host"] == "127.0.0.1"
    translated = masters.settings(Where("spark://127.0.0.1:7077", "192.0.2.7"))
    assert translated["spark.driver.host"] == "192.0.2.7"
    assert translated["spark.driver.bindAddress"] == masters.EVERYWHERE
    assert masters.settings(Where())["spark.driver.bindAddress"] == "127.0.0.1"


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.setattr(session, "obstacle", lambda: None)  # whether there is a Java is not asked here
    monkeypatch.delenv("CHAOS_SPARK_MASTER", raising=False)
    path = tmp_path / "log.jsonl"
    path.write_text('{"f": "append", "value": 1, "offset": 0, "type": "ok", "invoke": 1, "complete": 2}\n')
    yield [str(path), "--format", "jsonl"]
    session.set_master(Where())


def test_an_absent_master_is_a_line(log, vacant):
    for engine in ("auto", "spark"):
        argv = [*log, "--engine", engine, "--master", f"spark://127.0.0.1:{vacant}"]
        done = CliRunner().invoke(check_command, argv, standalone_mode=False)
        assert type(done.exception) is ChaosError
        assert str(done.exception).startswith(f"no Spark master at spark://127.0.0.1:{vacant}: ")
        assert "\n" not in str(done.exception)


def test_the_environment_names_a_master_and_the_command_line_wins(log, vacant):
    environment = {"CHAOS_SPARK_MASTER": f"spark://127.0.0.1:{vacant}"}
    run = CliRunner(env=environment)
    assert "no Spark master" in str(run.invoke(check_command, log, standalone_mode=False).exception)
    assert run.invoke(check_command, [*log, "--engine", "local"], standalone_mode=False).return_value == 0


@pytest.mark.parametrize(
    "argv", [["--engine", "local", "--master", "yarn"], ["--driver-host", "10.0.0.1"], ["--master", "spork"]]
)
def test_options_that_contradict_are_refused(log, argv):
    done = CliRunner().invoke(check_command, [*log, *argv], standalone_mode=False)
    assert isinstance(done.exception, UsageError)


def test_equal_files_are_shipped_as_equal_bytes(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
    one, other = (shipping.pack_archive(tmp_path / name) for name in "ab")
    assert (one.name, one.path.read_bytes()) == (other.name, other.path.read_bytes())
    names = zipfile.ZipFile(one.path).namelist()
    assert {"chaos/storage/history.py", "checkers/engine/judge.py", "spark_checkers/tasks.py"} <= set(names)
    assert any(name.startswith("compiled/msgspec/_core.") for name in names)
    assert not any(name.endswith(".pyc") for name in names)


def test_the_first_host_that_lacks_something_is_named():
    fine = shipping.Found("a", "/usr/bin/python3", ())
    shipping.require_nothing_lacking([fine])
    with pytest.raises(
        CapabilityError, match=r"on b \(/opt/python3\) lacks numpy, scipy; .* -m pip install numpy==.* scipy=="
    ):
        shipping.require_nothing_lacking([fine, shipping.Found("b", "/opt/python3", ("numpy", "scipy"))])


def test_a_stack_is_told_in_a_line():
    mismatch = (
        "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
        "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different "
        "version: 3.9 than that in driver: 3.11, PySpark cannot run with different minor versions.\n"
    )
    assert cause(mismatch) == "they run Python 3.9 and this is 3.11; PYSPARK_PYTHON names the one that they are to run"
    absent = 'java.io.IOException: Cannot run program "python9": error=2, No such file or directory'
    assert "no program python9" in cause(absent)
    module = (
        "Traceback\n  File x\nModuleNotFoundError: No module named 'pandas'\n\n\tat org.apache.spark.X(Y.scala:1)\n"
    )
    assert cause(module) == "ModuleNotFoundError: No module named 'pandas'"
    assert cause("something else\nand more") == "something else"
    assert cause("") == "no reason given"
    assert last_words("some words\nlast words\n\tat c\n\t... 3 more\n") == "last words"
    logged = (
        "26/11/22 12:04 WARN A: a\n26/11/22 12:05 ERROR B: all masters are unresponsive\n26/11/22 12:05 WARN C: c\n"
    )
    assert last_words(logged) == "all masters are unresponsive"
    assert last_words("") == ""


def test_slices_cover_all_tasks_once():
    for count in (1, 2, 7, retry_rounds.SLICES, retry_rounds.SLICES + 1, 1000):
        for cores in (1, 8, 100):
            slices = retry_rounds.slices_for(count, 0, cores)
            assert [i for n in range(slices) for i in retry_rounds.slice_of(n, slices, count)] == list(range(count))
            assert retry_rounds.slices_for(count, 1, cores) == count


def test_a_slice_of_several_is_ended_before_all_limits_are_up():
    assert retry_rounds.late_after_s([30]) == 30
    assert retry_rounds.late_after_s([30, 50, 20, 40]) == 100
    assert retry_rounds.late_after_s([30, 0.0]) == retry_rounds.late_after_s([0.0]) == math.inf


def scripted(monkeypatch, script):
    """Rounds that answer from a script: for each task what it gives, round by round."""
    given = []

    def one_round(numbers, _table, _limits_s, nth, _of):
        given.append(list(numbers))
        return {number: script[number][nth] for number in numbers}

    monkeypatch.setattr(retry_rounds, "_round", one_round)
    return retry_rounds.perform_tasks(len(script), None, [0.0] * len(script)), given


BROKE = Failed("broke", altered=False)
LOST = Failed("lost", altered=False, lost=True)


def test_what_can_change_is_tried_three_times_and_nothing_else(monkeypatch):
    altered, late = Failed("altered", altered=True), Failed("late", altered=False, overtime_s=3.0)
    script = [["good"], [BROKE, "good"], [altered], [LOST, BROKE, "good"], [late], [BROKE, LOST, BROKE]]
    answers, given = scripted(monkeypatch, script)
    assert answers == ["good", "good", altered, "good", late, BROKE]
    assert given == [[0, 1, 2, 3, 4, 5], [1, 3, 5], [3, 5]]


def test_a_job_that_ends_badly_leaves_earlier_answers(monkeypatch):
    ended = Failed("no executor was left", altered=False, job=True)
    answers, given = scripted(monkeypatch, [["good"], [BROKE, ended]])
    assert answers == ["good", ended]
    assert given == [[0, 1], [1]]


def test_nothing_to_do_is_no_round(monkeypatch):
    assert scripted(monkeypatch, []) == ([], [])


def test_time_grows_with_the_budget_and_the_file():
    assert limit_s(0, 60) > 2 * 60
    assert limit_s(10**9, 60) - limit_s(0, 60) > 300  # seconds for a file that takes a minute


def test_a_part_of_a_run_is_no_run(tmp_path):
    """Where the folder is not shared, an executor may see fewer streams than another: it must not judge them."""
    write_run_folder(load_history(HISTORIES / "gaps-are-legal.yaml"), tmp_path / "run")
    history, run = tmp_path / "run" / "history", run_of(tmp_path / "run")
    facts = tuple(perform("stream", history, worker, ("log", None)).facts for worker in workers_in(history))
    context = Context(run=run, streams=facts, timeline=perform("events", history, 0, (run, None)))
    duty = Duty.of(context, panel(context))
    assert perform("keys", history, 0, (duty, [0])) is not None
    more = msgspec.structs.replace(duty, context=msgspec.structs.replace(context, streams=(*facts, facts[0])))
    with pytest.raises(HistoryError, match="is it on a file system that all executors share"):
        perform("keys", history, 0, (more, [0]))
