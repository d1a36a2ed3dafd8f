"""What a fingerprint is of: the code that decided a row, however it is told, and nothing beside it."""

import importlib

import pytest
from repository import ROOT


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
    assert set(sources.today()) == set(sources.sources())


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
            ["chaos/workload/set.py", "cluster/systems/redis/client.py"],
            ["cluster/systems/_shared/http.py"],
        ),
    ],
)
def test_a_run_is_decided_by_its_own_system_workload_and_checks(sources, system, workload, decided_by, not_by):
    named = sources.deciding(system, workload)
    assert set(named) <= set(sources.today())
    files = {str(path.relative_to(ROOT)) for name in named for path in sources.files_of(sources.sources()[name])}
    assert set(decided_by) <= files
    assert not files & set(not_by)
