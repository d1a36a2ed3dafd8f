"""``chaos list``, ``chaos doctor`` and ``chaos clean``."""

import click
import msgspec

GROUPS = ("systems", "backends", "workloads", "models", "nemeses", "checkers", "bugs", "settings")


def rows_of(group: str) -> list[dict[str, str]]:
    """The rows of one group: name, what else there is in columns, help and, where it does not load, error."""
    if group == "bugs":
        from chaos.options.bugs import listed

        return listed()
    if group == "settings":
        return _settings()
    if group == "nemeses":
        from nemesis.faults.registry import broken
        from nemesis.plan.catalog import described

        rows = [{"name": name, "help": text} for name, text in described()]
        return [*rows, *({"name": name, "help": "", "error": why} for name, why in broken().items())]
    if group == "checkers":
        from checkers.engine.registry import described as checks

        return [{"name": name, "help": text} for name, text in checks()]
    from chaos import plugins

    return [
        {"name": row.name, "help": row.help, **({"error": row.error} if row.error else {})}
        for row in plugins.listed(group)
    ]


def _settings() -> list[dict[str, str]]:
    """The settings of the harness' own for each system that loads; a system's own keys are for its documentation."""
    from chaos import plugins

    return [
        {"name": name, "system": row.name, "help": text}
        for row in plugins.listed("systems")
        if row.error is None
        for name, text in plugins.load("systems", row.name)().settings_help.items()
    ]


@click.command("list")
@click.argument("group", type=click.Choice(GROUPS))
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_command(group: str, as_json: bool) -> int:
    """List one group, a line each: `chaos list nemeses`."""
    rows = rows_of(group)
    if as_json:
        click.echo(msgspec.json.encode(rows).decode())
        return 0
    columns = [name for name in rows[0] if name not in ("help", "error")] if rows else []
    widths = {name: max(len(row[name]) for row in rows) for name in columns}
    for row in rows:
        cells = [f"{row[name]:<{widths[name]}}" for name in columns]
        click.echo("  ".join([*cells, row.get("error") or row["help"]]))
    return 0


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def doctor_command(as_json: bool) -> int:
    """Say what this machine can do, tried out, and which command installs what is missing."""
    from cluster.doctor import facts
    from nemesis.plan.capabilities import tries

    found = facts(tries())
    if as_json:
        click.echo(msgspec.json.encode(found).decode())
        return 0
    width = max(len(fact.name) for fact in found)
    for fact in found:
        word = "ok" if fact.ok else "absent" if fact.optional else "missing"
        click.echo(f"{word:<7}  {fact.name:<{width}}  {fact.detail}")
        if not fact.ok and fact.help:
            click.echo(f"{'':<{width + 11}}{fact.help}")
    return 0


@click.command("clean")
@click.option("--dry-run", is_flag=True, help="Say what would be removed; remove nothing.")
def clean_command(dry_run: bool) -> int:
    """Remove what dead runs left behind; never touches a run that lives."""
    from cluster.cleanup.cleanup import leftovers, remove
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
