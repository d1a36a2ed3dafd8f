"""``chaos check``: today's checkers on stored histories."""

from pathlib import Path

import click
import msgspec

from chaos.core.errors import ChaosError
from chaos.core.verdict import Results, exit_code


def as_object(path: str, results: Results) -> dict[str, object]:
    """The one-line JSON object of a path: a contract with scripts."""
    return {
        "path": path,
        "valid": results.valid,
        "model": results.model,
        "engine": results.engine,
        "anomalies": {
            name: {
                "count": anomaly.count,
                "allowed": anomaly.allowed,
                "examples": msgspec.to_builtins(anomaly.examples),
            }
            for name, anomaly in results.anomalies.items()
        },
        "reason": results.reason,
    }


WORST_FIRST = (1, 255, 2, 254, 130, 0)


@click.command("check")
@click.argument("paths", nargs=-1, required=True)
@click.option("--engine", type=click.Choice(["auto", "spark", "local"]), default="auto", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per path, a line each.")
@click.option("--store", default="store", show_default=True, help="Where ids and `latest` are looked up.")
def check_command(paths: tuple[str, ...], engine: str, as_json: bool, store: str) -> int:
    """Judge stored runs: folders, the beginnings of their ids, or `latest`.

    Several paths are judged in one process and one Spark session; one that cannot be judged is said in a line
    and disturbs no other. The worst exit code wins.
    """
    from chaos.core.runinfo import read_run
    from chaos.judging import judge_each
    from chaos.store import find_run
    from reports.html import render
    from reports.text import summary

    folders = [find_run(text, Path(store)) for text in paths]
    codes = []
    for text, folder, results in zip(paths, folders, judge_each(folders, engine), strict=True):
        if isinstance(results, ChaosError):
            where = "" if str(folder) in str(results) else f"{text}: "
            click.echo(f"chaos: {where}{results}", err=True)
            codes.append(results.exit_code)
            continue
        run = read_run(folder)
        codes.append(exit_code(results.valid, interrupted=run.interrupted, broke=run.broke))
        assert codes[-1] in WORST_FIRST
        if as_json:
            click.echo(msgspec.json.encode(as_object(text, results)).decode())
        else:
            render(folder)
            click.echo(summary(folder))
    return min(codes, key=WORST_FIRST.index)
