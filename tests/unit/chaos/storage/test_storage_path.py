"""Histories of other file systems: read where they are, with the verdict and the words of a file of this machine.

``mock://`` is pyarrow's own file system in memory; one lives as long as its URI is remembered here.
"""

import json
import pickle
from pathlib import Path

import pytest
from click.testing import CliRunner
from repository import TESTS

from chaos.cli.check import check_command
from chaos.core.errors import HistoryError, UsageError
from chaos.formats import jsonl, kafka, text
from chaos.storage import storage_path as places
from chaos.storage.storage_path import Remote, place
from chaos.testing.history_files import load_history, write_run_folder
from checkers.imported.judge_file import judge
from checkers.imported.options import Question
from spark_checkers import session
from spark_checkers.files import judge_rounds, verdicts
from spark_checkers.tasks import answer

SAMPLE = TESTS / "data" / "kafka" / "k0003.edn"
QUESTION = Question(format="jepsen", model="kafka", ww_deps=True)


def remote(uri, data):
    found = place(uri)
    system, path = places._system(uri)
    system.create_dir(str(Path(path).parent))
    with system.open_output_stream(path) as file:
        file.write(data)
    return found


def check(*argv):
    done = CliRunner().invoke(check_command, list(argv), standalone_mode=False)
    return done.return_value, done.stdout, done.stderr, done.exception


def test_what_words_mean():
    assert place("store/latest") == Path("store/latest")
    assert place("file:///srv/a%20b") == Path("/srv/a b")
    assert isinstance(place("s3://bucket/key"), Remote)
    assert place("s3://bucket/key") == pickle.loads(pickle.dumps(place("s3://bucket/key")))  # noqa: S301
    assert str(place("s3://bucket/a/b.edn").absolute()) == "s3://bucket/a/b.edn"
    assert place("s3://bucket/a/b.edn").name == "b.edn"
    below = place("s3://bucket/run?region=x&scheme=http") / "history" / "w 0.ops"
    assert str(below) == "s3://bucket/run/history/w%200.ops?region=x&scheme=http"
    assert (below.name, below.stem, below.suffix) == ("w 0.ops", "w 0", ".ops")
    assert pickle.loads(pickle.dumps(below)).at()[1] == "bucket/run/history/w 0.ops"  # noqa: S301
    with pytest.raises(UsageError, match="keep passwords out") as refused:
        place("s3://me:secret@bucket/key")
    assert "secret" not in str(refused.value)


def test_a_file_is_read_where_it_is():
    found = remote("mock:///histories/k.edn", SAMPLE.read_bytes())
    assert judge(found, QUESTION, "local") == judge(SAMPLE, QUESTION, "local")
    assert found.stat().st_size == SAMPLE.stat().st_size
    assert text.chunks(found, 5000) == text.chunks(SAMPLE, 5000)
    lines = remote("mock:///histories/log.jsonl", b'{"f": "read", "type": "ok", "invoke": 1, "complete": 2}\nx\n')
    with pytest.raises(HistoryError, match=r"^mock:///histories/log\.jsonl:2: "):
        jsonl.read(lines)


def test_a_file_is_read_in_ranges_where_it_is(tmp_path):
    found = remote("mock:///histories/large.edn", SAMPLE.read_bytes())

    def run(tasks):
        answers = [answer(task.kind, str(task.history), task.key, task.context) for task in tasks]
        return [pickle.loads(one) for one in answers]  # noqa: S301 - we wrote it

    (verdict,) = verdicts([judge_rounds(found, QUESTION, tmp_path, lambda size, _: text.spans(size, size // 3))], run)
    assert verdict == judge(SAMPLE, QUESTION, "spark")


def test_what_is_not_there_is_said_in_a_line():
    missing = place("mock:///nowhere.edn")
    assert not missing.exists()
    with pytest.raises(HistoryError, match=r"mock:///nowhere\.edn: there is no such file"):
        kafka.read(missing)
    with pytest.raises(HistoryError, match=r"mock:///nowhere\.edn"):
        missing.open()
    with pytest.raises(HistoryError, match="there is no such file"):
        missing.stat()
    code, out, err, _ = check("mock:///nowhere.edn", "--format", "jepsen", "--model", "kafka", "--engine", "local")
    assert (code, out) == (254, "")
    assert err == "chaos: mock:///nowhere.edn: there is no such file\n"
    code, out, err, _ = check("what://x/y.edn", "--format", "jepsen", "--model", "kafka", "--engine", "local")
    assert (code, out) == (254, "")
    assert err.count("\n") == 1
    assert "s3, gs, hdfs, abfs or file" in err


def test_the_command_takes_uris_of_files():
    found = remote("mock:///histories/said.edn", SAMPLE.read_bytes())
    argv = ("--format", "jepsen", "--model", "kafka", "--ww-deps", "--engine", "local", "--json")
    there, here = json.loads(check(str(found), *argv)[1]), json.loads(check(f"file://{SAMPLE}", *argv)[1])
    assert there.pop("path") == "mock:///histories/said.edn"
    assert here.pop("path") == f"file://{SAMPLE}"
    assert there == here


def test_streams_without_tables_are_fetched(tmp_path):
    folder = tmp_path / "run"
    write_run_folder(load_history(TESTS / "histories" / "lost-in-the-middle.yaml"), folder)
    uri = "mock:///store/run"
    system, path = places._system(uri)
    for file in sorted(one for one in folder.rglob("*") if one.is_file()):
        target = f"{path}/{file.relative_to(folder)}"
        system.create_dir(str(Path(target).parent))
        with system.open_output_stream(target) as stream:
            stream.write(file.read_bytes())
    code, out, err, _ = check(uri, "--engine", "local", "--json")
    assert code == 1
    told = "streams without whole tables, fetched to be judged here; the verdict is printed, not written there"
    assert err == f"chaos: {uri}: {told}\n"
    there = json.loads(out)
    assert there.pop("path") == uri
    assert "lost-write" in there["anomalies"]
    code, out, err, _ = check(f"file://{folder}", "--engine", "local", "--json")
    assert (code, err) == (1, "")
    assert (folder / "results.json").exists()
    here = json.loads(out)
    assert here.pop("path") == f"file://{folder}"
    assert there == here
    code, out, _, _ = check(uri, "--engine", "local")
    assert code == 1
    assert "FAIL  " in out
    assert "report " not in out
    assert f"chaos check {uri}" in out
    (shared := tmp_path / "shared").mkdir()
    assert check(uri, "--engine", "local", "--scratch", str(shared))[0] == 1
    assert not list(shared.iterdir())
    try:
        code, out, err, _ = check(uri, "--master", "spark://127.0.0.1:1")
        assert (code, out) == (254, "")
        assert "add --scratch FOLDER" in err
    finally:
        session.stop()  # other tests judge here
