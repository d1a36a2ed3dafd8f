"""``chaos check``: today's checkers on stored histories, our own and those of other tools."""

import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import msgspec
from click.core import ParameterSource

from chaos.cli.bar import Bar
from chaos.core import advance
from chaos.core.errors import ChaosError, UsageError
from chaos.core.verdict import Results, exit_code

FORMATS = ("chaos", "jepsen", "openchaos", "porcupine", "jsonl")


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
@click.option("--format", "format_name", type=click.Choice(FORMATS), default="chaos", show_default=True,
              help="Who wrote the histories; all but chaos are files.")
@click.option("--model", help="What was tested: kafka, log, register, mutex, set, … (not for chaos).")
@click.option("--engine", type=click.Choice(["auto", "spark", "local"]), default="auto", show_default=True)
@click.option("--master", envvar="CHAOS_SPARK_MASTER", show_envvar=True,
              help="Where Spark runs: local[N], spark://HOST:PORT, yarn, …; means --engine spark.  [default: local[2]]")
@click.option("--driver-host", help="Address at which executors reach us.  [default: that on the route to the master]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per path, a line each.")
@click.option("--strict", is_flag=True, default=None, help="What a format's own checker misses is an error too.")
@click.option("--independent", is_flag=True, default=None, help="Values are [key value], each key an object (jepsen).")
@click.option("--sub-via", type=click.Choice(["assign", "subscribe"]), help="How consumers got their logs (kafka).")
@click.option("--ww-deps", is_flag=True, default=None, help="Sends of neighbouring offsets order transactions (kafka).")
@click.option("--linearizable", is_flag=True, default=None,
              help="Stale reads are errors (set-full); real time counts (set, queue).")
@click.option("--init", help="What a register holds at first.  [default: nil]")
@click.option("--nil-means", type=click.Choice(["any", "absent"]),
              help="A read of nil says nothing, or that nothing was there.  [default: as the format's own tool]")
@click.option("--budget", "budget_s", type=click.FloatRange(min=0.001), help="Seconds of search a file.  [default: 60]")
@click.option("--scratch", type=click.Path(file_okay=False, exists=True, path_type=Path),
              help="A folder that all of Spark's executors reach, for the parts of large files and for runs that are "
              "fetched.  [default: the temporary folder; on a cluster beside each file]")
@click.option("--check", "checks", multiple=True, metavar="NAME,…",
              help="Only these checks, and the assumptions; nothing is written into the run folder (chaos).")
@click.option("--store", default="store", show_default=True, help="Where ids and `latest` of runs are looked up.")
def check_command(
    *, paths: tuple[str, ...], format_name: str, engine: str, master: str | None, driver_host: str | None,
    as_json: bool, scratch: Path | None, store: str, checks: tuple[str, ...], **options: Any,
) -> int:  # fmt: skip
    """Judge stored histories: runs (folders, beginnings of their ids, `latest`), or files of other tools.

    Several paths are judged in one process and one Spark session; one that cannot be judged is said in a line
    and disturbs no other. The worst exit code wins. A path may be a URI (s3://, gs://, hdfs://, abfs://, file://).
    """
    from chaos.judging import aim

    master = _meant(master, engine)
    if format_name == "chaos" and scratch is None and master is not None:
        _refuse_to_fetch(paths, master)
    engine = aim(engine, master, driver_host)
    given = {name: value for name, value in options.items() if value is not None}
    if format_name == "chaos":
        if given:
            names = ", ".join(f"--{name.removesuffix('_s').replace('_', '-')}" for name in given)
            others = ", ".join(FORMATS[1:])
            raise UsageError(f"{names}: only for histories of other tools; add --format, one of {others}")
        codes = _runs(paths, engine, store, scratch, _asked(checks), as_json=as_json)
    elif checks:
        raise UsageError("--check: only for run folders; a file is held against its --model")
    else:
        codes = _files(paths, format_name, engine, scratch, given, as_json=as_json)
    assert set(codes) <= set(WORST_FIRST)
    return min(codes, key=WORST_FIRST.index)


def _meant(master: str | None, engine: str) -> str | None:
    """The master; one of the environment is not meant where the command line says that Spark is not."""
    source = click.get_current_context().get_parameter_source("master")
    return None if engine == "local" and source is ParameterSource.ENVIRONMENT else master


def _refused(text: str, error: ChaosError) -> int:
    """Say in a line why a path could not be judged."""
    click.echo(f"chaos: {'' if text in str(error) else f'{text}: '}{error}", err=True)
    return error.exit_code


def _asked(texts: tuple[str, ...]) -> frozenset[str]:
    """The checks that are named."""
    from chaos.plugins import did_you_mean
    from checkers.registry import described

    known = [name for name, _ in described()]
    names = [name.strip() for text in texts for name in text.split(",")]
    for name in names:
        if name not in known:
            raise UsageError(f"--check {name}: no such check{did_you_mean(name, known)}")
    return frozenset(names)


def _refuse_to_fetch(paths: tuple[str, ...], master: str) -> None:
    """A run that is fetched into a folder of this machine is nothing to executors elsewhere."""
    from chaos.core.place import Remote, place
    from spark_checkers.masters import Where

    far = [] if Where(master).local else [text for text in paths if isinstance(place(text), Remote)]
    if far:
        raise UsageError(f"{far[0]}: add --scratch FOLDER, which executors of --master {master} reach, to fetch it to")


def _runs(
    paths: tuple[str, ...], engine: str, store: str, scratch: Path | None, only: frozenset[str], *, as_json: bool
) -> list[int]:
    with ExitStack() as until_told:
        folders = [_folder(text, Path(store), scratch, until_told) for text in paths]
        return _runs_at_hand(paths, folders, engine, only, as_json=as_json)


def _folder(text: str, store: Path, scratch: Path | None, until_told: ExitStack) -> Path:
    """A run folder of this machine: one of another file system is fetched (to ``scratch``), and gone afterwards."""
    from chaos.core.place import Remote, place
    from chaos.store import find_run

    where = place(text)
    if not isinstance(where, Remote):
        return find_run(text if "://" not in text else str(where), store)
    folder = until_told.enter_context(TemporaryDirectory(prefix="chaos-check-", dir=scratch))
    fetched = Path(folder) / (where.name or "run")
    fetched.mkdir()
    where.fetch(fetched)
    click.echo(f"chaos: {text}: fetched to be judged here; the verdict is printed, not written there", err=True)
    return find_run(str(fetched), store)


def _runs_at_hand(
    paths: tuple[str, ...], folders: list[Path], engine: str, only: frozenset[str], *, as_json: bool
) -> list[int]:
    from chaos.core.place import Remote, place
    from chaos.core.runinfo import read_run
    from chaos.judging import judge_each
    from reports.html import render
    from reports.text import rows_of, summary

    with Bar(sys.stderr) as bar, advance.listening(bar):
        found = judge_each(folders, engine, only)
    codes = []
    for text, folder, results in zip(paths, folders, found, strict=True):
        if isinstance(results, ChaosError):
            codes.append(_refused(str(folder) if str(folder) in str(results) else text, results))
            continue
        run = read_run(folder)
        codes.append(exit_code(results.valid, interrupted=run.interrupted, broke=run.broke))
        if as_json:
            click.echo(msgspec.json.encode(as_object(text, results)).decode())
        elif only:
            click.echo(rows_of(text, results))
        else:
            if not isinstance(place(text), Remote):
                render(folder)
            click.echo(summary(folder))
    return codes


def _value(text: str) -> str | int:
    """A value of the command line as histories have it: a whole number or a keyword if it is one."""
    from chaos.core.formats.edn import Keyword

    if text.removeprefix("-").isdecimal():
        return int(text)
    return Keyword(text) if text.startswith(":") else text


def _files(
    paths: tuple[str, ...], format_name: str, engine: str, scratch: Path | None, given: dict[str, Any], *, as_json: bool
) -> list[int]:
    from chaos.core.place import place
    from chaos.judging import judge_imported
    from checkers.imported.question import Question, model_for
    from reports.imported import figures_object, summary

    if "init" in given:
        given["init"] = _value(given["init"])
    question = Question(format=format_name, model=model_for(format_name, given.pop("model", None)), **given)
    with Bar(sys.stderr) as bar, advance.listening(bar):
        found = judge_imported([place(text) for text in paths], question, engine, scratch)
    codes = []
    for text, results in zip(paths, found, strict=True):
        if isinstance(results, ChaosError):
            codes.append(_refused(text, results))
            continue
        codes.append(exit_code(results.valid))
        whole = {**as_object(text, results), "figures": figures_object(results)}
        click.echo(msgspec.json.encode(whole).decode() if as_json else summary(text, results))
    return codes
