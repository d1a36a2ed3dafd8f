"""``chaos list``, ``chaos doctor`` and ``chaos clean``."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

import click
import msgspec

from chaos.cli.output import text_style

if TYPE_CHECKING:
    from cluster.doctor import Fact
    from reports.summary.text_style import TextStyle

Rows = list[dict[str, str]]


def rows_of(group: str) -> Rows:
    """The rows of one group: name, what else there is in columns, help and, where it does not load, error."""
    return GROUPS[group]()


def _plugins(group: str) -> Callable[[], Rows]:
    def rows() -> Rows:
        from chaos import plugins

        return [
            {"name": row.name, "help": row.help, **({"error": row.error} if row.error else {})}
            for row in plugins.list_group(group)
        ]

    return rows


def _systems() -> Rows:
    from chaos import plugins
    from chaos.options.offers import SYSTEMS, offers

    found: Rows = [
        {
            "name": one.name,
            "version": one.version,
            "other versions": one.others,
            "build": one.build,
            "workloads": ", ".join(one.workloads),
            "help": one.help,
        }
        for one in offers()
    ]
    return [*found, *_broken({row.name: row.error for row in plugins.list_group(SYSTEMS) if row.error}, version="")]


def _workloads() -> Rows:
    from chaos.options.offers import offers

    systems = offers()
    return [
        {**row, "systems": ", ".join(one.name for one in systems if row["name"] in one.workloads)}
        for row in _plugins("workloads")()
    ]


def _broken(found: Mapping[str, str], **columns: str) -> Rows:
    """What does not load, with its error."""
    return [{"name": name, **columns, "help": "", "error": why} for name, why in found.items()]


def _bugs() -> Rows:
    from chaos.options.bugs import bug_rows

    return bug_rows()


def _nemeses() -> Rows:
    from nemesis.faults.admin.admin_fault import action_of
    from nemesis.faults.registry import broken_faults
    from nemesis.plan.nemesis_names import catalog, help_lines

    known = catalog()

    def needs(name: str) -> str:
        action = action_of(known[name].how) if name in known and known[name].fault else ""
        return f"; the system's admin interface must offer {action}" if action else ""

    return [*({"name": name, "help": text + needs(name)} for name, text in help_lines()), *_broken(broken_faults())]


def _checks() -> Rows:
    from checkers.engine.installed_checks import broken_checks, checks

    return [*({"name": name, "help": check.help} for name, check in checks().items()), *_broken(broken_checks())]


def _anomalies() -> Rows:
    from checkers.anomalies.catalogue import kinds

    return [{"name": kind.name, "makes it": kind.consequence, "help": kind.meaning} for kind in kinds().values()]


def _reporters() -> Rows:
    from reports.reporter import broken_reporters, reporters

    found = [{"name": one.name, "file": one.file, "help": one.help} for one in reporters().values()]
    return [*found, *_broken(broken_reporters(), file="")]


def _settings() -> Rows:
    """The settings of the harness' own for each system that loads; a system's own keys are for its documentation."""
    from chaos import plugins
    from cluster.system import settings_help_of

    return [
        {"name": name, "system": row.name, "help": text}
        for row in plugins.list_group("systems")
        if row.error is None
        for name, text in settings_help_of(plugins.load("systems", row.name)()).items()
    ]


GROUPS: Final[Mapping[str, Callable[[], Rows]]] = {
    "systems": _systems,
    "backends": _plugins("backends"),
    "workloads": _workloads,
    "models": _plugins("models"),
    "nemeses": _nemeses,
    "checks": _checks,
    "anomalies": _anomalies,
    "reporters": _reporters,
    "generators": _plugins("generators"),
    "formats": _plugins("formats"),
    "bugs": _bugs,
    "settings": _settings,
}


@click.command("list")
@click.argument("group", type=click.Choice(list(GROUPS)), metavar="GROUP")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_command(group: str, as_json: bool) -> int:
    """List one group, a line each: `chaos list nemeses`.

    GROUP is one of systems, backends, workloads, models, nemeses, checks, anomalies, reporters, generators, formats,
    bugs and settings. Of nemeses it says how their names are made, and lists the faults; `--json` has every name.
    """
    if as_json:
        click.echo(msgspec.json.encode(rows_of(group)).decode())
        return 0
    style = text_style()
    for line in _nemeses_lines(style) if group == "nemeses" else _lines(rows_of(group), style):
        click.echo(line)
    return 0


def _nemeses_lines(style: "TextStyle") -> Iterable[str]:
    from chaos.cli.nemeses_list import lines, unavailable_faults
    from nemesis.faults.registry import broken_faults, faults

    return lines(faults(), unavailable_faults(), broken_faults(), style)


def _lines(found: Rows, style: "TextStyle") -> Iterable[str]:
    rows = [_for_people(row) for row in found]
    columns = [name for name in rows[0] if name not in ("help", "error")] if rows else []
    return style.listing([(*(row[name] for name in columns), row.get("error") or row["help"]) for row in rows])


IN_JSON_ONLY: Final = frozenset({"other versions", "build", "workloads", "systems"})
"""Columns too long for a line; docs/reference/systems.md has them too."""


def _for_people(row: dict[str, str]) -> dict[str, str]:
    """A row that fits into a line, with the verdict that it names in capitals and the systems at its end."""
    from reports.words import VERDICTS

    short = {name: text for name, text in row.items() if name not in IN_JSON_ONLY}
    if "makes it" in row:
        short["makes it"] = VERDICTS[row["makes it"]]
    if row.get("systems"):
        short["help"] = f"{row['help']} ({row['systems']})"
    return short


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def doctor_command(as_json: bool) -> int:
    """Say what this machine can do, tried out, and which command installs what is missing."""
    from cluster.doctor import facts
    from nemesis.plan.capabilities import tries

    found = [*facts(tries()), *_systems_here()]
    if as_json:
        click.echo(msgspec.json.encode(found).decode())
        return 0
    shown = list(faults_together(found))
    width = max(len(fact.name) for fact in shown)
    style = text_style()
    for fact in shown:
        word = "ok" if fact.ok else "absent" if fact.optional else "missing"
        begin = f"{word:<7}  {fact.name:<{width}}  "
        for line in style.hang(begin, fact.detail):
            click.echo(line)
        if not fact.ok and fact.help:  # a command to copy: on one line
            click.echo(f"{'':<{len(begin) if style.has_room(begin) else 4}}{fact.help}")
    return 0


def faults_together(found: list["Fact"]) -> Iterator["Fact"]:
    """The facts for people: those of faults that work share a line, where the first of them stood. Pure."""
    good = [fact for fact in found if fact.fault and fact.ok]
    names = ", ".join(fact.fault for fact in good)
    for fact in found:
        if fact not in good:
            yield fact
        elif fact == good[0]:
            yield msgspec.structs.replace(fact, name="faults that were tried", detail=f"work: {names}")


def _systems_here() -> list["Fact"]:
    """A fact for each system that loads: whether what it needs is there or can be had."""
    from chaos import plugins
    from cluster.doctor import Fact
    from cluster.needs import need_of

    found = []
    for row in plugins.list_group("systems"):
        if row.error is None:
            need = need_of(plugins.load("systems", row.name)())
            found.append(Fact(f"system {row.name}", need.met, need.detail, need.help, optional=True))
    return found


@click.command("clean")
@click.option("--dry-run", is_flag=True, help="Say what would be removed; remove nothing.")
def clean_command(dry_run: bool) -> int:
    """Remove what dead runs left behind; never touches a run that lives."""
    from cluster.clean import leftovers, remove
    from cluster.hosts.docker.cleanup import present

    engine = present()
    found = leftovers(engine)
    for leftover in found:
        verb = "would remove" if dry_run else "removing"
        click.echo(f"{verb}  {leftover.kind} of run {leftover.run_id}: {leftover.what}")
        if not dry_run:
            remove(leftover, engine)
    if not found:
        click.echo("nothing left over")
    return 0
