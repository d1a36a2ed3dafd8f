"""What a fingerprint is of: the code that decided a row, however it is told, and nothing beside it."""

import importlib
import re
import shutil

import pytest
from repository import ROOT

from chaos.core.errors import UsageError
from nemesis.faults.registry import faults


@pytest.fixture
def sources(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("sources")


def written(root, **texts):
    for name, text in texts.items():
        path = root / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_prose_ages_no_row_and_code_does(sources, tmp_path):
    def print_of(text):
        written(tmp_path, checkers__a=text)
        return sources.fingerprint(sources.Source(("checkers",)), tmp_path)

    plain = print_of('"""Why."""\nLIMIT = 1\n\n\ndef f(x):\n    return x < LIMIT\n')
    told = '"""Why, in other words."""\nLIMIT = 1  # so much\n"""Of what."""\n\ndef f(x):\n    """Whether."""\n'
    assert print_of(told + "    return x < LIMIT\n") == plain
    assert print_of(told + "    return (\n        x < LIMIT\n    )\n") != plain
    assert print_of(told + "    return x <= LIMIT\n") != plain
    first = print_of("def f():\n    if a:\n        b()\n    c()\n")
    assert print_of("def f():\n    if a:\n        b()\n        c()\n") != first, "blocks are code"
    assert print_of('x = "a string # that is code"\n') != print_of('x = "another"\n')


def test_imports_are_followed_inside_the_rooms_and_nowhere_else(sources, tmp_path):
    written(
        tmp_path,
        system__own__client="from system.shared import link\nimport core.clock\n",
        system__shared__link="def f():\n    from system.shared.deep import g\n    return g()\n",
        system__shared__deep="g = 1\n",
        system__shared__other="h = 1\n",
        core__clock="now = 1\n",
    )
    source = sources.Source(("system/own",), ("system/shared",))
    found = [str(path.relative_to(tmp_path)) for path in sources.files_of(source, tmp_path)]
    assert found == ["system/own/client.py", "system/shared/deep.py", "system/shared/link.py"]
    before = sources.fingerprint(source, tmp_path)
    written(tmp_path, system__shared__other="h = 2\n", core__clock="now = 2\n", system__shared__new="")
    assert sources.fingerprint(source, tmp_path) == before
    written(tmp_path, system__shared__deep="g = 2\n")
    assert sources.fingerprint(source, tmp_path) != before


def test_every_source_is_there_and_has_its_files(sources):
    for name, source in sources.sources().items():
        assert all(list(ROOT.glob(pattern)) for pattern in source.roots), name
        assert all((ROOT / room).is_dir() for room in source.rooms), name
    assert set(sources.hashes_of_today()) == set(sources.sources())


@pytest.mark.parametrize(
    ("system", "workload", "decided_by", "not_by"),
    [
        ("minimq", "queue", ["checkers/log/lost_writes.py", "checkers/engine/judge.py"], ["checkers/objects/live.py"]),
        (
            "etcd",
            "register",
            ["checkers/objects/live.py", "cluster/systems/_shared/http.py"],
            ["checkers/log/order.py"],
        ),
        (
            "redis",
            "set",
            ["chaos/workload/objects/set.py", "cluster/systems/redis/client.py"],
            ["cluster/systems/_shared/http.py"],
        ),
    ],
)
def test_a_run_is_decided_by_its_own_system_workload_and_checks(sources, system, workload, decided_by, not_by):
    named = sources.deciding_sources(system, workload, "random-kill")
    assert set(named) <= set(sources.hashes_of_today())
    files = {str(path.relative_to(ROOT)) for name in named for path in sources.files_of(sources.sources()[name])}
    assert set(decided_by) <= files
    assert not files & set(not_by)


def below(sources, names):
    """The files of sources, as paths below nemesis/."""
    every = {path for name in names for path in sources.files_of(sources.sources()[name])}
    return {str(path.relative_to(ROOT / "nemesis")) for path in every if path.is_relative_to(ROOT / "nemesis")}


@pytest.mark.parametrize(
    ("nemesis", "named"),
    [
        ("noop", ()),
        ("leader-kill", ("fault kill",)),
        ("bridge", ("fault partition",)),
        ("random-loss:probability=0.5@broker,leader-kill@all, all-kill", ("fault kill", "fault loss")),
        ("all", ("faults of all",)),
    ],
)
def test_a_nemesis_names_the_faults_that_it_may_inject(sources, nemesis, named):
    assert sources.of_nemesis(nemesis) == named
    assert sources.deciding_sources("minimq", "queue", nemesis)[2:-2] == named


def test_what_is_no_nemesis_names_no_faults_silently(sources):
    for nemesis in ("sequence", "leader-kil", "leader-kill,sequence"):
        with pytest.raises(UsageError, match="nobody knows its faults"):
            sources.deciding_sources("minimq", "queue", nemesis)


def test_runs_under_several_nemeses_name_the_faults_of_all_of_them_once(sources):
    raft = importlib.import_module("rocketmq_raft")
    named = sources.deciding_sources("rocketmq", "queue", *raft.nemeses("rocketmq-raft"))
    faults = ["fault kill", "fault loss", "fault partition", "fault suspend"]
    assert sorted(named) == sorted(["rocketmq", "nemesis", *faults, "workload queue", "checks of queue"])


def test_every_module_of_nemesis_decides_something(sources):
    names = [name for name in sources.sources() if name == "nemesis" or name.startswith("fault")]
    paths = [path for path in (ROOT / "nemesis").rglob("*") if path.suffix in (".py", ".c", ".h")]
    code = {path for path in paths if path.suffix != ".py" or sources.code_only(path.read_bytes())}
    assert {str(path.relative_to(ROOT / "nemesis")) for path in code} - below(sources, names) == {
        "faults/faults_page.py"
    }


def test_what_every_run_has_of_nemesis_is_in_its_own_source(sources):
    """The rest of the house reaches the modules of a fault through the fault alone."""
    core = below(sources, ["nemesis"])
    said = "".join(path.read_text() for room in ("chaos", "cluster") for path in (ROOT / room).rglob("*.py"))
    taken = {
        f"{name.replace('.', '/')}.py" for name in re.findall(r"^ *from nemesis\.(\S+) import", said, re.MULTILINE)
    }
    assert {"runner.py", "faults/fault.py", "plan/mix.py"} <= taken <= core
    assert not core & {
        "faults/processes/kill.py",
        "faults/links/link_fault.py",
        "faults/disks/diskfs/mounts.py",
        "faults/disks/diskfs/fs/main.c",
    }


def test_the_mix_of_all_is_decided_by_each_fault_that_it_draws(sources):
    found = below(sources, sources.deciding_sources("minimq", "queue", "all"))
    drawn = {
        "cuts": ["partition", "partition_in"],
        "links": ["link_fault", "packet_loss", "disconnect"],
        "processes": ["kill", "suspend", "restart", "machine_fault"],
    }
    assert {f"faults/{room}/{name}.py" for room, names in drawn.items() for name in names} <= found
    assert not found & {"faults/links/throttle.py", "faults/disks/disk_full.py", "faults/disks/diskfs/mounts.py"}


def test_a_fault_ages_the_rows_of_runs_that_may_inject_it_and_no_others(sources, tmp_path):
    shutil.copytree(ROOT / "nemesis", tmp_path / "nemesis", ignore=shutil.ignore_patterns("__pycache__"))
    modules = {name: f"{fault.__module__.replace('.', '/')}.py" for name, fault in faults().items()}
    mixed = ["kill", "stop"]
    kinds = ["kill", "stop", "suspend", "pause-kill", "throttle", "disk-full", "power-failure"]
    every = {"nemesis", "faults of all", *(f"fault {name}" for name in kinds)}

    def prints():
        named = sources.nemesis_sources(modules, mixed, tmp_path)
        return {name: sources.fingerprint(named[name], tmp_path) for name in [*every, "fault skew"] if name in named}

    last = prints()

    def differ(name="", text=""):
        """The sources that are others than before, now that a file below nemesis/ ends in a text."""
        if name:
            path = tmp_path / "nemesis" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text((path.read_text() if path.exists() else "") + text)
        before = dict(last)
        last.update(prints())
        return {source for source in last if before.get(source) != last[source]}

    assert "fault kill" in differ("faults/processes/kill.py", "x = 1\n")
    assert {"fault stop", "fault pause-kill", "faults of all"} <= differ("faults/processes/kill.py", "y = 1\n")
    assert not {"nemesis", "fault throttle", "fault suspend"} & differ("faults/processes/kill.py", "z = 1\n")
    assert differ("faults/links/throttle.py", "x = 1\n") == {"fault throttle"}
    assert (
        {"fault disk-full", "fault power-failure"}
        <= differ("faults/disks/diskfs/fs/main.c", "int x;\n")
        < every - {"fault kill"}
    )
    assert differ("faults/faults_page.py", "x = 1\n") == set()
    assert differ("plan/plan.py", "x = 1\n") == {"nemesis"}
    assert differ("faults/fault.py", "x = 1\n") == every

    modules["skew"] = "nemesis/faults/clocks/skew.py"
    code = "from nemesis.faults.processes.kill import Kill\nfrom nemesis.clocks.jump import jump\n"
    assert differ("faults/clocks/skew.py", code) == {"fault skew"}
    assert differ("clocks/__init__.py", '"""Machinery of one fault."""\n') == set()
    assert differ("clocks/jump.py", "jump = 1\n") == {"fault skew"}
    assert differ("clocks/time/shift.c", "int shift;\n") == {"fault skew"}
    mixed.append("skew")
    assert differ() == {"faults of all"}
    assert differ("faults/clocks/skew.py", "x = 1\n") == {"fault skew", "faults of all"}
