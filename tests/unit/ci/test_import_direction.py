"""The import direction of docs/architecture.md, read from the source with ast."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from repository import ROOT

PACKAGES = ("chaos", "cluster", "nemesis", "checkers", "spark_checkers", "reports")
GROUND = {"chaos.basics", "chaos.core", "chaos.storage"}
ALLOWED = {
    "chaos.basics": {"chaos.basics"},
    "chaos.core": {"chaos.basics", "chaos.core"},
    "chaos.storage": GROUND,
    "chaos.formats": {*GROUND, "chaos.formats", "chaos.plugins"},
    "chaos.models": {*GROUND, "chaos.models", "chaos.plugins"},
    "chaos.workload": {*GROUND, "chaos.models", "chaos.workload"},
    "chaos.testing.history_literal": GROUND,
    "chaos.testing.literal_operations": {*GROUND, "chaos.models", "chaos.testing.history_literal"},
    "chaos.testing.history_files": {
        *GROUND,
        "chaos.models",
        "chaos.__version__",
        "chaos.testing.history_literal",
        "chaos.testing.literal_operations",
    },
    "chaos.generate": {
        *GROUND,
        "chaos.models",
        "chaos.__version__",
        "chaos.generate",
        "chaos.plugins",
        "chaos.testing.history_files",
        "chaos.testing.literal_operations",
    },
    "cluster": {*GROUND, "chaos.models", "cluster"},
    "nemesis": {*GROUND, "chaos.plugins", "cluster", "nemesis"},
    "checkers": {*GROUND, "chaos.models", "chaos.formats", "chaos.plugins", "checkers"},
    "spark_checkers": {*GROUND, "chaos.formats", "chaos.plugins", "checkers", "spark_checkers"},
    "reports": {*GROUND, "chaos.models", "chaos.formats", "chaos.plugins", "checkers", "reports"},
}


def statements(module: ast.Module) -> Iterator[ast.AST]:
    """Every statement, however deep in others: expressions hold none, and are most of what there is."""
    ahead: list[ast.AST] = [module]
    while ahead:
        node = ahead.pop()
        yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, field, ())
            ahead += inner if isinstance(inner, list) else ()


@cache
def imported(path: Path) -> frozenset[str]:
    found: set[str] = set()
    for node in statements(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(name for name in found if name.split(".")[0] in PACKAGES)


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


@cache
def modules() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


@pytest.mark.parametrize("package", ALLOWED)
def test_packages_import_only_what_the_house_allows(package: str) -> None:
    wrong = []
    for path in modules():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if within(module, package):
            allowed = ALLOWED[package]
            wrong += [f"{module} imports {n}" for n in imported(path) if not any(within(n, a) for a in allowed)]
    assert wrong == []


def circle_of(paths: list[Path], root: Path, *, of_rooms: bool = False) -> list[str]:
    """A circle of imports, also of such inside functions; empty if there is none.

    ``of_rooms``: between folders. What stands beside folders, such as ``cluster/host.py``, is a room of its own.
    """
    names = {".".join(path.relative_to(root).with_suffix("").parts): path for path in paths}
    with_folders = {folder for path in paths for folder in path.parent.parents}

    def room(module: str) -> str:
        alone = not of_rooms or names[module].parent in with_folders
        return module if alone else module.rpartition(".")[0]

    graph: dict[str, set[str]] = {}
    for module, path in names.items():
        found = {name if name in names else name.rpartition(".")[0] for name in imported(path)} & names.keys()
        graph.setdefault(room(module), set()).update({room(name) for name in found} - {room(module)})
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circle_of([path for path in modules() if path.name != "__init__.py"], ROOT) == []


def test_no_rooms_import_each_other_in_a_circle() -> None:
    assert circle_of([path for path in modules() if path.name != "__init__.py"], ROOT, of_rooms=True) == []


def test_a_circle_of_rooms_is_seen_where_modules_have_none(tmp_path: Path) -> None:
    paths = [tmp_path / "chaos" / name for name in ("a/one.py", "a/two.py", "b/three.py", "four.py")]
    imports = ("from chaos.b import three\n", "", "import chaos.a.two\nimport chaos.four\n", "import chaos.a.two\n")
    for path, text in zip(paths, imports, strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert circle_of(paths, tmp_path) == []
    assert set(circle_of(paths, tmp_path, of_rooms=True)) == {"chaos.a", "chaos.b"}


def test_a_circle_through_a_function_is_seen(tmp_path: Path) -> None:
    package = tmp_path / "chaos"
    package.mkdir()
    (package / "one.py").write_text("from chaos.two import x\n")
    (package / "two.py").write_text("def f():\n    from chaos import one\n")
    assert set(circle_of(sorted(package.glob("*.py")), tmp_path)) == {"chaos.one", "chaos.two"}


def test_nothing_imports_the_command_line() -> None:
    wrong = [
        str(path)
        for path in modules()
        if not within(".".join(path.relative_to(ROOT).with_suffix("").parts), "chaos.cli")
        and path.name != "__main__.py"
        and any(within(name, "chaos.cli") for name in imported(path))
    ]
    assert wrong == []


def test_the_rule_would_find_a_wrong_import(tmp_path: Path) -> None:
    source = tmp_path / "bad.py"
    source.write_text("from nemesis.plan.plan import make_plan\n")
    assert not any(within(name, allowed) for name in imported(source) for allowed in ALLOWED["cluster"])


def test_an_import_is_found_however_deep_it_is(tmp_path: Path) -> None:
    source = tmp_path / "deep.py"
    source.write_text(
        "try:\n    pass\nexcept ValueError:\n    import chaos.a\nelse:\n    import chaos.b\n"
        "finally:\n    import chaos.c\n"
        "class C:\n    async def f():\n        match 1:\n            case 1:\n                from chaos import d\n"
        "if 1:\n    pass\nelif 2:\n    with g:\n        while 3:\n            from chaos.e import f\n"
    )
    assert imported(source) == {"chaos.a", "chaos.b", "chaos.c", "chaos.d", "chaos.e.f"}
