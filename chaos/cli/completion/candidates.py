"""The values that can be typed where the cursor stands, each with a line of help.

A candidate that more must follow (``key=``, ``random-loss:``) is ``OPEN``: no blank is put behind it. What cannot be
looked up offers nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from chaos.cli.completion.kinds import Kind
from chaos.options.experiment import DEFAULTS

OPEN: Final = "open"
RUNS_MAX: Final = 50
Items = list[CompletionItem[str]]


def _items(rows: Iterable[tuple[str, str]], incomplete: str, before: str = "") -> Items:
    """The rows, name and help, that begin as typed; ``before``: what is typed already and stays."""
    return [CompletionItem(before + name, help=text or None) for name, text in rows if name.startswith(incomplete)]


def _last(incomplete: str) -> tuple[str, str]:
    """What stands before the last comma, with it, and what behind."""
    before, comma, last = incomplete.rpartition(",")
    return before + comma, last


def _listed(group: str, *, commas: bool = False) -> Callable[[click.Context, str], Items]:
    """The rows of ``chaos list GROUP``."""

    def of(_ctx: click.Context, incomplete: str) -> Items:
        from chaos.cli.inspect import rows_of

        before, last = _last(incomplete) if commas else ("", incomplete)
        taken = set(before.split(","))
        return _items(((row["name"], row["help"]) for row in rows_of(group) if row["name"] not in taken), last, before)

    return of


def _file(_ctx: click.Context, incomplete: str) -> Items:
    return [CompletionItem(incomplete, type="file")]


def _folder(_ctx: click.Context, incomplete: str) -> Items:
    return [CompletionItem(incomplete, type="dir")]


def _system_name(ctx: click.Context) -> str:
    """The system that the words before the cursor ask for."""
    from chaos.options.config_file import load

    name = ctx.params.get("system")
    if name is None and (driver := ctx.params.get("driver")):
        name = load(Path(driver)).values.get("system")
    return str(name or DEFAULTS["system"])


def _system(ctx: click.Context) -> tuple[Any, dict[str, str]]:
    """That system, and its settings as far as the words before the cursor make sense."""
    from chaos import plugins
    from chaos.core.errors import UsageError
    from chaos.options.resolve import parse_settings

    system = plugins.load("systems", _system_name(ctx))()
    try:
        return system, system.resolve(parse_settings(ctx.params.get("pairs") or ()))
    except UsageError:
        return system, system.resolve({})


def _bugs(ctx: click.Context, incomplete: str) -> Items:
    from chaos.options.bugs import bug_rows

    name = _system_name(ctx)
    return _items(((row["name"], row["help"]) for row in bug_rows() if row["system"] == name), incomplete)


def _settings(ctx: click.Context, incomplete: str) -> Items:
    """``KEY=`` of the system, in full or without what stands before its last point; behind ``=`` the default."""
    from chaos.cli.inspect import rows_of

    name, equals, value = incomplete.partition("=")
    system = _system_name(ctx)
    _, defaults = _system(ctx)
    if equals:
        full = next((key for key in defaults if name in (key, key.rpartition(".")[2])), name)
        if full == "bug":
            return _items(((row.value, row.help or "") for row in _bugs(ctx, "")), value, f"{name}=")
        return _items([(defaults[full], "the default")] if defaults.get(full) else [], value, f"{name}=")
    helps = {row["name"]: row["help"] for row in rows_of("settings") if row["system"] == system}
    return [
        CompletionItem(f"{key if key.startswith(name) else bare}=", type=OPEN, help=helps.get(key))
        for key in defaults
        if name in (key[: len(name)], (bare := key.rpartition(".")[2])[: len(name)])
    ]


def _workloads(ctx: click.Context, incomplete: str) -> Items:
    """The workloads that the system's clients can do."""
    from chaos.cli.inspect import rows_of
    from chaos.options.offers import workloads_as_it_is

    suited = workloads_as_it_is(_system_name(ctx), _system(ctx)[0])
    return _items(((row["name"], row["help"]) for row in rows_of("workloads") if row["name"] in suited), incomplete)


def _topology(ctx: click.Context) -> Any:
    from chaos import plugins
    from cluster.leaders import subjects_of
    from nemesis.targets.topology import Topology

    system, settings = _system(ctx)
    workload = plugins.load("workloads", ctx.params.get("workload") or system.workload)
    keys = int(ctx.params.get("keys") or workload.keys)
    return Topology.of(system.topology(settings), system.roles, subjects_of(system, settings, keys))


def _nemeses(ctx: click.Context, incomplete: str) -> Items:
    """A nemesis of a list: its name, behind ``:`` its parameters, behind ``@`` whom it hits."""
    from nemesis.plan.nemesis_names import catalog, parts, words

    *others, last = words(incomplete)
    before = incomplete[: len(incomplete) - len(last)]
    name, given, suffix = parts(others[-1]) if others else ("", "", None)
    more = (
        _parameters(catalog().get(name), f"{given},{last}", before[: -len(given) - 1]) if given and not suffix else []
    )
    return [*more, *_nemesis(ctx, last, before, several=True)]


def _one_nemesis(ctx: click.Context, incomplete: str) -> Items:
    return _nemesis(ctx, incomplete, "", several=False)


def _nemesis(ctx: click.Context, text: str, before: str, *, several: bool) -> Items:
    from nemesis.plan.nemesis_names import catalog, help_lines, parts

    name, given, suffix = parts(text)
    entry = catalog().get(name)
    if suffix is not None:
        leads = entry is not None and entry.selector is not None and entry.selector.value in ("leader", "follower")
        return _suffixes(_topology(ctx), suffix, before + text.partition("@")[0] + "@", leads=leads)
    if ":" in text:
        return _parameters(entry, given, before + name + ":")
    rows = [(one, help_text) for one, help_text in help_lines() if several or one != "all"]
    found = _items(rows, name, before)
    if entry is not None and entry.fault is not None:
        found += [CompletionItem(f"{before}{name}@", type=OPEN, help="on these roles alone")]
        if entry.how.Params.__struct_fields__:
            found += [CompletionItem(f"{before}{name}:", type=OPEN, help="with parameters")]
    return found


def _parameters(entry: Any, given: str, before: str) -> Items:
    """``NAME=`` of each parameter that is not given yet; behind ``=`` the default and all words."""
    from nemesis.faults.params import params_of

    if entry is None or entry.fault is None:
        return []
    done, last = _last(given)
    known = params_of(entry.how.Params)
    name, equals, value = last.partition("=")
    if equals:
        meant = next((one for one in known if one.name == name), None)
        return _values(meant, value, f"{before}{done}{name}=") if meant is not None else []
    taken = {part.partition("=")[0] for part in done.split(",")}
    return [
        CompletionItem(f"{before}{done}{one.name}=", type=OPEN, help=one.range)
        for one in known
        if one.name not in taken and one.name.startswith(name)
    ]


def _values(one: Any, value: str, before: str) -> Items:
    """The default of a parameter and its words; behind ``+`` the words that are not given yet."""
    from nemesis.faults.params import JOIN

    done, plus, last = value.rpartition(JOIN) if one.several else ("", "", value)
    rows = [] if plus or one.must_be_given else [(one.typed_default, f"the default; {one.range}")]
    taken = {*done.split(JOIN), *(word for word, _ in rows)}
    rows += [(word, "") for word in one.words if word not in taken]
    return _items(rows, last, before + done + plus)


def _suffixes(topology: Any, suffix: str, before: str, *, leads: bool) -> Items:
    """Roles behind ``@``; of a fault of leaders also subjects, and ``all`` for all of them."""
    done, plus, last = suffix.rpartition("+")
    taken = set(done.split("+"))
    rows = [(role, "these nodes") for role in topology.targeted_roles()]
    if leads and topology.subjects:
        rows += [(name, "its leader") for name in topology.subjects if name not in topology.targeted_roles()]
        rows += [("all", "the leader of each")] if not done else []
    return _items([row for row in rows if row[0] not in taken], last, before + done + plus)


def _occasions(_ctx: click.Context, incomplete: str) -> Items:
    """What a fault may wait for; an expression must follow ``log:``."""
    from nemesis.occasions.occasion import LOG, OCCASIONS

    rows = _items(((name, what) for name, what in OCCASIONS.items() if not name.startswith(LOG)), incomplete)
    return [*rows, *(CompletionItem(f"{LOG}:", type=OPEN) for _ in range(f"{LOG}:".startswith(incomplete)))]


def _nodes(ctx: click.Context, incomplete: str) -> Items:
    """Nodes with commas between them."""
    system, settings = _system(ctx)
    before, last = _last(incomplete)
    taken = set(before.split(","))
    rows = [(spec.name, spec.role) for spec in system.topology(settings)]
    return _items([row for row in rows if row[0] not in taken], last, before)


def _runs(ctx: click.Context, incomplete: str) -> Items:
    """The newest runs by id, and ``latest``."""
    from chaos.cli.stored_runs import read_listed
    from chaos.run.store import runs_in

    store = Path(ctx.params.get("store") or DEFAULTS["store"])
    newest = [folder for folder in reversed(runs_in(store)) if folder.name.startswith(incomplete)][:RUNS_MAX]
    rows = [(folder.name, _about(read_listed(folder, 0))) for folder in newest]
    return [*_items([("latest", "the newest that was judged")], incomplete), *_items(rows, incomplete)]


def _about(run: Any) -> str:
    """``minimq queue leader-kill PASS``, of a run as ``chaos ls`` has it."""
    return " ".join(filter(None, (run.system, run.workload, run.nemesis, run.word)))


def _runs_or_files(ctx: click.Context, incomplete: str) -> Items:
    return (_runs(ctx, incomplete) if ctx.params.get("format_name", "chaos") == "chaos" else []) or _file(
        ctx, incomplete
    )


def _of_run(ctx: click.Context) -> Path:
    """The folder of the run that the words before the cursor name."""
    from chaos.run.store import find_run

    run = ctx.params.get("run") or next(iter(ctx.args), "")  # click leaves it there before an option without its value
    return find_run(str(run), Path(ctx.params.get("store") or DEFAULTS["store"]))


def _nodes_of_run(ctx: click.Context, incomplete: str) -> Items:
    from chaos.storage.runinfo import read_run

    return _items(((node.name, node.role) for node in read_run(_of_run(ctx)).nodes), incomplete)


def _words_of_run(ctx: click.Context, incomplete: str) -> Items:
    from chaos.storage.runinfo import read_run

    return _items(((word, "") for word in read_run(_of_run(ctx)).words), incomplete)


def _anomalies_of_run(ctx: click.Context, incomplete: str) -> Items:
    from chaos.core.verdict import Results
    from chaos.storage.manifest import read_checked

    results = read_checked(_of_run(ctx) / "results.json", Results)
    found = results.anomalies if results is not None else {}
    return _items(((name, f"{anomaly.count} of them") for name, anomaly in found.items()), incomplete)


def _anomalies(ctx: click.Context, incomplete: str) -> Items:
    """``NAME=`` with commas, of what can be planted in a made history."""
    from chaos import plugins
    from chaos.cli.inspect import rows_of

    known = plugins.load("generators", ctx.params.get("model") or "log").planted
    helps = {row["name"]: row["help"] for row in rows_of("anomalies")}
    before, last = _last(incomplete)
    return [
        CompletionItem(f"{before}{name}=", type=OPEN, help=helps.get(name)) for name in known if name.startswith(last)
    ]


def _matrices(ctx: click.Context, incomplete: str) -> Items:
    from chaos.matrix.read import shipped_matrices

    return _items(((name, "shipped") for name in shipped_matrices()), incomplete) or _file(ctx, incomplete)


def _models(ctx: click.Context, incomplete: str) -> Items:
    """The models that a format of another tool can be judged by."""
    from checkers.imported.options import KAFKA, LOG, MODELS, TRANSACTIONAL

    name = ctx.params.get("format_name")
    alone = {KAFKA: ("jepsen",), LOG: ("jsonl",), **dict.fromkeys(TRANSACTIONAL, ("jepsen", "jsonl"))}
    return _items(((model, "") for model in MODELS if name in alone.get(model, (name,))), incomplete)


def _consistency_models(ctx: click.Context, incomplete: str) -> Items:  # noqa: ARG001 - the same for all
    """Consistency models, with commas."""
    from checkers.txn.models import ALIASES, MODELS

    before, last = _last(incomplete)
    return [CompletionItem(before + name) for name in (*MODELS, *ALIASES) if name.startswith(last)]


CANDIDATES: Final[Mapping[Kind, Callable[[click.Context, str], Items]]] = {
    "anomalies": _anomalies,
    "anomalies of the run": _anomalies_of_run,
    "backends": lambda ctx, text: [
        *_items([("auto", "by what this machine can do")], text),
        *_listed("backends")(ctx, text),
    ],
    "bugs": _bugs,
    "checks": _listed("checks"),
    "checks with commas": _listed("checks", commas=True),
    "consistency models with commas": _consistency_models,
    "files": _file,
    "folders": _folder,
    "matrices": _matrices,
    "models": _models,
    "nemeses": _nemeses,
    "nodes": _nodes,
    "occasions": _occasions,
    "nodes of the run": _nodes_of_run,
    "one nemesis": _one_nemesis,
    "reporters": _listed("reporters"),
    "reporters with commas": _listed("reporters", commas=True),
    "runs": _runs,
    "runs or files": _runs_or_files,
    "settings": _settings,
    "systems": _listed("systems"),
    "words of the run": _words_of_run,
    "workloads": _workloads,
}
