"""The examples of pages and help that need no cluster are given: to made runs and histories, each in its own folder."""

import json
import re
import shutil
from pathlib import Path

import doc_examples
import pytest
from command_lines import said_here

pytestmark = pytest.mark.broad

COMMANDS = {"ls", "show", "check", "report", "compare", "publish", "init", "list", "generate", "completion", "plan"}
RUNS = ("20261121T070001Z-0001", "20261123T151249Z-af9b", "20261123T151552Z-8cfc")
"""Two of them are named by a page."""

ELSEWHERE = re.compile(r"--master|--format (porcupine|openchaos|etcd-robustness)|--check mine|markdown|check old$")
"""Needs a Spark cluster, files of another tool, a package of the reader, or a run of an older version."""

REGISTER = """\
{:process 0, :type :invoke, :f :write, :value 1}
{:process 0, :type :ok, :f :write, :value 1}
{:process 1, :type :invoke, :f :read, :value nil}
{:process 1, :type :ok, :f :read, :value 1}
"""
KEYED = REGISTER.replace(":value 1", ":value [x 1]").replace(":value nil", ":value [x nil]")
SET = REGISTER.replace(":write", ":add").replace(":read, :value 1", ":read, :value #{1}")
LOG = """\
{"f": "append", "value": 7, "offset": 0, "type": "ok", "invoke": 1, "complete": 2}
{"f": "read", "from": 0, "to_end": true, "records": [[0, 7]], "type": "ok", "invoke": 3, "complete": 4}
"""
TRANSACTIONS = """\
{"f": "txn", "process": 0, "value": [["append", "x", 1]], "type": "ok", "invoke": 1, "complete": 2}
{"f": "txn", "process": 0, "value": [["r", "x", [1]]], "type": "ok", "invoke": 3, "complete": 4}
"""
TEXTS = {"cas-register": KEYED, "register": REGISTER, "set": SET, "log": LOG}
EXAMPLES = [
    one
    for one in (*doc_examples.commands(), *doc_examples.of_help())
    if one.split[0] in COMMANDS and not ELSEWHERE.search(one.line)
]
BY_LINE = {one.line: one for one in EXAMPLES}


def made(*words: str) -> None:
    said = said_here("generate", *words)
    assert said.code == 0, said.err


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with judged runs in it, the newest with a lost write, and a matrix's store."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for run in RUNS:
            lost = ["--anomaly", "lost-write=1"] if run == RUNS[-1] else []
            made("--ops", "2000", "--output", f"store/minimq-queue/{run}", *lost)
        made("--ops", "2000", "--output", "store/matrix-rocketmq-raft/cell/20261123T160000Z-0001")
        assert said_here("check", "-1", "-2", "-3").code == 1
        made("--model", "kafka", "--ops", "2000", "--output", "kafka.edn")
        for model in ("list-append", "rw-register"):
            made("--model", model, "--ops", "2000", "--output", f"{model}.edn")
    (folder / "store" / "latest").symlink_to(f"minimq-queue/{RUNS[-1]}")
    return folder


@pytest.fixture
def place(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that store."""
    shutil.copytree(runs / "store", tmp_path / "store", symlinks=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lay(words: list[str], runs: Path, place: Path) -> None:
    """What the words of ``chaos check`` name: a copied run, or a history of another tool."""
    if "--format" not in words:
        for name in ("red", "copied", "run"):
            if name in words:
                shutil.copytree(runs / "store" / "minimq-queue" / RUNS[-1], place / name)
        return
    name = next(word for word in words if re.search(r"\.(edn|jsonl)$", word))
    model = words[words.index("--model") + 1]
    if model == "list-append" and name.endswith(".jsonl"):
        text = TRANSACTIONS
    else:
        text = TEXTS.get(model) or (runs / f"{model}.edn").read_text()
    (place / name).write_text(text[: len(text) // 2] if name.startswith("cut") else text)


@pytest.mark.parametrize("line", sorted(BY_LINE))
def test_the_command_does_what_it_says(line: str, runs: Path, place: Path) -> None:
    words = BY_LINE[line].words
    if words[0] == "check":
        lay(words[1:], runs, place)
    code, out, err = said_here(*words)
    assert code in ((0, 1, 2) if words[0] == "check" else (0,)), err
    assert "Traceback" not in err
    if "--json" in words:
        json.loads(out)
    for option in ("--output", "--html", "--report"):
        if option in words:
            assert (place / words[words.index(option) + 1]).exists()
    assert out.strip() or words[0] in ("init", "generate", "publish"), "it says something"


def test_most_examples_of_such_commands_are_given() -> None:
    all_lines = {one.line for one in (*doc_examples.commands(), *doc_examples.of_help()) if one.split[0] in COMMANDS}
    assert len(all_lines - BY_LINE.keys()) < 12 < len(BY_LINE) / 3
