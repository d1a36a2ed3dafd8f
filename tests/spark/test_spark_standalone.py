"""A real cluster on loopback whose executors lack our packages: same verdicts, and what ends is tried again."""

import os
import pickle
import signal
import subprocess
import threading
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from pyspark import cloudpickle
from repository import HISTORIES
from spark_standalone import FEWER_COMPILERS, bare_python, descends, holder_of, parent, standalone

from chaos.cli.check import check_command
from chaos.core.errors import CapabilityError, ChaosError
from chaos.core.verdict import Results
from chaos.run import judging
from chaos.testing.history_files import load_history, write_run_folder
from checkers.engine import local_engine
from checkers.imported.judge_file import judge
from checkers.imported.options import Question
from spark_checkers import engine, session
from spark_checkers import files as rounds_of_files
from spark_checkers.masters import Where
from spark_checkers.tasks import Task, error_of

pytestmark = pytest.mark.spark
LOG = """\
{"f": "append", "value": 1, "offset": 0, "type": "ok", "invoke": 1, "complete": 2}
{"f": "append", "value": 2, "offset": 1, "type": "ok", "invoke": 3, "complete": 4}
{"f": "read", "from": 0, "to_end": true, "records": [[0, 1]], "type": "ok", "invoke": 5, "complete": 6}
"""
QUESTION = Question(format="jsonl", model="log", budget_s=0.5)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster")
    with standalone(folder) as up, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", str(folder))  # its defaults are a user's: what is not ours is theirs
        session.set_master(Where(up.master))
        yield up
        session.set_master(Where())


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / f"{name}.jsonl" for name in "abc"]
    for path in paths:
        path.write_text(LOG)
    return paths


def comparable(results):
    checks = tuple(msgspec.structs.replace(row, took_s=0.0) for row in results.checks)
    return msgspec.to_builtins(msgspec.structs.replace(results, engine="", engine_note="", checks=checks))


def test_runs_and_files_are_judged_by_executors_that_lack_our_packages(cluster, files, tmp_path, monkeypatch):
    names = ("gaps-are-legal", "an-old-master-acknowledges-alone")
    for name in names:
        write_run_folder(load_history(HISTORIES / f"{name}.yaml"), tmp_path / name)
    monkeypatch.chdir(tmp_path)  # executors have another current folder
    done = CliRunner().invoke(check_command, [*names, "--master", cluster.master, "--json"], standalone_mode=False)
    assert done.return_value == 1
    assert [text for text in done.stderr.splitlines() if not text.startswith("checking: ")] == []
    rows = [msgspec.json.decode(line) for line in done.stdout.splitlines()]
    assert [(row["engine"], row["valid"]) for row in rows] == [("spark", True), ("spark", False)]
    for name in names:
        told = msgspec.json.decode((tmp_path / name / "results.json").read_bytes(), type=Results)
        assert comparable(told) == comparable(local_engine.judge(Path(name)))
    assert FEWER_COMPILERS in session.session().conf.get("spark.executor.extraJavaOptions")
    found = judging.judge_imported(files, QUESTION, "spark")
    assert [comparable(one) for one in found] == [comparable(judge(path, QUESTION, "")) for path in files]
    for package, there in (("chaos", False), ("msgspec", False), ("pyarrow", True)):
        done = subprocess.run([cluster.python, "-I", "-c", f"import {package}"], check=False, capture_output=True)
        assert (done.returncode == 0) is there, package


class Held:
    """A context that is there once something was written into the pipe."""

    def __init__(self, pipe, value):
        self.state = str(pipe), value

    def __reduce__(self):
        def held(pipe, value):
            import os

            os.read(os.open(pipe, os.O_RDONLY), 1)
            return value

        return held, self.state


def held(pipe, question):
    os.mkfifo(pipe)
    return cloudpickle.dumps(Held(pipe, question))


def performed(tasks):
    """What the tasks gave, when asked for."""
    out = []
    thread = threading.Thread(target=lambda: out.extend(engine._run(tasks)), daemon=True)
    thread.start()

    def result():
        thread.join(timeout=60)
        assert not thread.is_alive()
        return out

    return result


@pytest.mark.parametrize("generations", [0, 2], ids=["python", "executor"])
def test_a_process_that_is_killed_costs_a_retry_and_no_verdict(cluster, files, tmp_path, generations):
    """A Python worker is the child of a daemon, which is the child of the executor, which is a child of the worker."""
    plain = pickle.dumps(QUESTION)
    contexts = [plain, held(tmp_path / "pipe", QUESTION), plain]
    tasks = [Task("imported", path, 0, one) for path, one in zip(files, contexts, strict=True)]
    writer = os.open(tmp_path / "pipe", os.O_RDWR)  # never waits, and keeps readers waiting
    session.session()
    result = performed(tasks)
    first = victim = holder_of(tmp_path / "pipe", cluster.workers)
    environ = dict(row.split("=", 1) for row in Path(f"/proc/{first}/environ").read_text().split("\0") if "=" in row)
    assert str(HISTORIES.parents[1]) not in environ["PYTHONPATH"].split(os.pathsep), "our packages came as an archive"
    for _ in range(generations):
        victim = parent(victim)
    assert descends(parent(victim), cluster.workers)
    os.kill(victim, signal.SIGKILL)
    second = holder_of(tmp_path / "pipe", cluster.workers, but=(first,))
    os.write(writer, b".")
    assert [comparable(one) for one in result()] == [comparable(judge(path, QUESTION, "spark")) for path in files]
    assert second != first
    os.close(writer)


def test_a_task_that_always_kills_its_python_is_an_error_of_its_own(cluster, files):
    deadly = cloudpickle.dumps(type("Deadly", (), {"__reduce__": lambda _: (os._exit, (9,))})())
    contexts = [pickle.dumps(QUESTION), deadly, pickle.dumps(QUESTION)]
    tasks = [Task("imported", path, 0, one) for path, one in zip(files, contexts, strict=True)]
    first, second, third = engine._run(tasks)
    assert first.valid is third.valid is False
    error = error_of(second)
    assert type(error) is ChaosError
    assert "the Python worker or the executor that ran it ended" in str(error)


def test_a_task_that_hangs_is_ended_and_unknown(cluster, files, tmp_path, monkeypatch):
    monkeypatch.setattr(rounds_of_files, "GRACE_S", 0.5)
    stuck = held(tmp_path / "pipe", QUESTION)
    writer = os.open(tmp_path / "pipe", os.O_RDWR)
    run = engine._run

    def one_stuck(task):  # the others have all the time that a busy machine may need
        return task._replace(context=stuck) if task.history == files[1] else task._replace(limit_s=0.0)

    monkeypatch.setattr(engine, "_run", lambda tasks: run([one_stuck(task) for task in tasks]))
    first, second, third = judging.judge_imported(files, QUESTION, "spark")
    assert first.valid is third.valid is False
    assert second.valid == "unknown"
    assert "was stopped, with a budget of 0.5 s" in second.reason
    os.close(writer)


def test_what_executors_lack_is_said_in_a_line_with_the_command(cluster, tmp_path, monkeypatch):
    python = bare_python(tmp_path, ("numpy", "pandas", "pyarrow")) / "python3"
    monkeypatch.setattr(session, "_USERS_PYTHON", str(python))
    session.set_master(Where())
    session.set_master(Where(cluster.master))
    with pytest.raises(CapabilityError) as raised:
        session.session()
    assert "lacks scipy; there, run: " in str(raised.value)
    assert f"{python} -m pip install scipy==" in str(raised.value)
