"""``chaos check``: judges stored histories, our own and those of other tools."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from click.core import ParameterSource

from chaos import plugins
from chaos.basics import progress
from chaos.basics.amounts import DAY_S, Amount
from chaos.cli.check_outputs import JUNIT_OPTION, SUMMARY_OPTION, CheckOutputs
from chaos.cli.check_places import StoredRun, find_stored
from chaos.cli.completion.values import offer
from chaos.cli.examples import examples
from chaos.cli.history_page import write_page
from chaos.cli.live.progress_bar import Bar
from chaos.cli.options.amount_type import AmountType
from chaos.cli.options.gate_options import FAIL_ON_OPTION, THRESHOLD_OPTION
from chaos.cli.options.run_options import STORE_OPTION
from chaos.cli.options.sections import RunCommand
from chaos.cli.output import complain, tell, text_style
from chaos.core.errors import ChaosError, HistoryError, UsageError
from chaos.core.verdict import Results, exit_code
from chaos.storage.storage_path import Place, Remote, place

OURS: Final = "chaos"
"""The format of run folders."""
OTHERS: Final = tuple(plugins.names(plugins.FORMATS))


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
        **({name.replace("-", "_"): list(models) for name, models in results.ruled_out.items()}),
        "thresholds": msgspec.to_builtins(results.thresholds),
    }


WORST_FIRST = (1, 255, 254, 2, 130, 0)
"""An anomaly is one whatever else went wrong. What could not be judged comes before what was judged and is UNKNOWN."""


@click.command(
    "check",
    cls=RunCommand,
    epilog=examples(
        "chaos check latest --check no-loss,order",
        "chaos check history.edn --format jepsen --model kafka",
        "chaos check log.jsonl --format jsonl --model log --json",
    ),
)
@click.argument("paths", nargs=-1, required=True, shell_complete=offer("runs or files"))
@click.option(
    "--format",
    "format_name",
    type=click.Choice((OURS, *OTHERS)),
    default=OURS,
    show_default=True,
    help="Read histories of this tool; all but chaos and etcd-robustness are files.",
)
@click.option(
    "--model",
    metavar="NAME",
    shell_complete=offer("models"),
    help="Judge by this model: kafka, log, register, mutex, set, … (not for chaos).",
)
@click.option(
    "--engine",
    type=click.Choice(["auto", "spark", "local"]),
    default="auto",
    show_default=True,
    help="Judge with this engine; auto: local below a million rows, else Spark if it starts.",
)
@click.option(
    "--master",
    envvar="CHAOS_SPARK_MASTER",
    metavar="MASTER",
    show_envvar=True,
    help="Use Spark there, e.g. local[4], spark://HOST:7077 or yarn; means --engine spark.  [default: local[2]]",
)
@click.option(
    "--driver-host",
    metavar="HOST",
    help="Let executors reach us at this address.  [default: on the route to the master]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per path, a line each.")
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a page that draws what was found, of one file (not for chaos: a run folder has its own).",
)
@click.option("--strict", is_flag=True, default=None, help="Count as errors also what the format's own checker misses.")
@click.option(
    "--independent",
    is_flag=True,
    default=None,
    help="Take values as [key value], each key an object of its own (jepsen).",
)
@click.option("--sub-via", type=click.Choice(["assign", "subscribe"]), help="Say how consumers got their logs (kafka).")
@click.option(
    "--ww-deps", is_flag=True, default=None, help="Let sends at neighbouring offsets order transactions (kafka)."
)
@click.option(
    "--linearizable",
    is_flag=True,
    default=None,
    help="Count stale reads as errors (set-full); hold to real time (set, queue).",
)
@click.option("--init", metavar="VALUE", help="Let a register hold this at first, or a bank in all.  [default: nil]")
@click.option(
    "--nil-means",
    type=click.Choice(["any", "absent"]),
    help="Take a read of nil as saying nothing, or that nothing was there.  [default: as the format's tool]",
)
@click.option(
    "--consistency-model",
    "consistency_models",
    multiple=True,
    metavar="NAME,…",
    shell_complete=offer("consistency models with commas"),
    help="Hold transactions to these, e.g. snapshot-isolation.  [default: strict-serializable]",
)
@click.option(
    "--wfr-keys", is_flag=True, default=None, help="Let a write replace what its transaction read (rw-register)."
)
@click.option(
    "--sequential-keys", is_flag=True, default=None, help="Let each process meet a key's values in order (rw-register)."
)
@click.option("--linearizable-keys", is_flag=True, default=None, help="Let each key follow real time (rw-register).")
@click.option(
    "--budget",
    "budget_s",
    type=AmountType(Amount("duration", 0.001, DAY_S)),
    help="Search for at most so long a file.  [default: 1m]",
)
@click.option(
    "--scratch",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="Put parts of large files, and fetched streams, into this folder; all executors must reach it.  "
    "[default: the temporary folder; on a cluster beside each file]",
)
@click.option(
    "--check",
    "checks",
    multiple=True,
    metavar="NAME,…",
    shell_complete=offer("checks with commas"),
    help="Judge only these checks and the assumptions; leave the run folder as it is (chaos).",
)
@THRESHOLD_OPTION
@FAIL_ON_OPTION
@JUNIT_OPTION
@SUMMARY_OPTION
@STORE_OPTION
def check_command(
    *,
    paths: tuple[str, ...],
    format_name: str,
    engine: str,
    master: str | None,
    driver_host: str | None,
    as_json: bool,
    scratch: Path | None,
    store: str,
    checks: tuple[str, ...],
    report: Path | None,
    thresholds: tuple[str, ...] | None,
    fail_on: tuple[str, ...] | None,
    junit: Path | None,
    summary: Path | None,
    **options: Any,
) -> int:
    """Judge stored runs again, or histories of other tools.

    PATHS are run folders, beginnings of run ids, `latest`, files, or URIs (s3://, gs://, hdfs://, abfs://, file://).
    A path that cannot be judged gets one line; the others are judged. The exit code is the first of these that any
    path has: 1 FAIL, 255 a check broke, 254 it cannot be read, 2 UNKNOWN, 130 interrupted, 0 PASS.
    """
    from chaos.options.check_names import check_names
    from chaos.run.judging import choose_engine

    master = _meant(master, engine)
    engine = choose_engine(engine, master, driver_host)
    given = {name: value for name, value in options.items() if value is not None and value != ()}
    if report is not None and (format_name == OURS or len(paths) > 1):
        raise UsageError("--report: writes the page of one file of another tool; chaos report RUN writes that of a run")
    if checks and thresholds:
        raise UsageError("--threshold: of a whole run, not of some checks; leave out --check")
    outputs = CheckOutputs(thresholds, fail_on, junit, summary)
    if format_name == OURS:
        if given:
            names = ", ".join(f"--{name.removesuffix('_s').replace('_', '-')}" for name in given)
            others = ", ".join(OTHERS)
            raise UsageError(f"{names}: only for histories of other tools; add --format, one of {others}")
        codes = _runs(paths, engine, store, scratch, master, frozenset(check_names(checks)), outputs, as_json=as_json)
    elif checks:
        raise UsageError("--check: only for run folders; leave it out, a file is judged by its --model")
    else:
        far = master is not None and not master.startswith("local")
        codes = _files(paths, format_name, engine, scratch, given, outputs, far=far, as_json=as_json, report=report)
    outputs.write()
    assert set(codes) <= set(WORST_FIRST)
    return min(codes, key=WORST_FIRST.index)


def _meant(master: str | None, engine: str) -> str | None:
    """The master; ignores one of the environment where the command line asks for the local engine."""
    source = click.get_current_context().get_parameter_source("master")
    return None if engine == "local" and source is ParameterSource.ENVIRONMENT else master


def _refused(text: str, error: ChaosError) -> int:
    """Say in a line why a path could not be judged."""
    complain(f"{'' if text in str(error) else f'{text}: '}{error}")
    return error.exit_code


def _runs(
    paths: tuple[str, ...],
    engine: str,
    store: str,
    scratch: Path | None,
    master: str | None,
    only: frozenset[str],
    outputs: CheckOutputs,
    *,
    as_json: bool,
) -> list[int]:
    with ExitStack() as until_told:
        runs = [find_stored(text, Path(store), scratch, master, until_told) for text in paths]
        return _runs_at_hand(paths, runs, engine, only, outputs, as_json=as_json)


def _runs_at_hand(
    paths: tuple[str, ...],
    runs: list[StoredRun | ChaosError],
    engine: str,
    only: frozenset[str],
    outputs: CheckOutputs,
    *,
    as_json: bool,
) -> list[int]:
    known = [run for run in runs if isinstance(run, StoredRun)]
    if not known:
        return _none_at_hand(paths, runs, outputs)
    from chaos.run.judging import judge_each
    from chaos.storage.runinfo import read_run
    from reports.reporter import write
    from reports.summary.terminal import rows_of, summary

    with Bar(sys.stderr) as bar, progress.listening(bar):
        homes = [run.home for run in known]
        judged = iter(judge_each([run.where for run in known], engine, only, homes, outputs.gates_of))
    codes = []
    for text, run in zip(paths, runs, strict=True):
        results = run if isinstance(run, ChaosError) else next(judged)
        outputs.add(text, results, None if isinstance(run, ChaosError) else run.home)
        if isinstance(run, ChaosError):
            codes.append(_refused(text, run))
            continue
        if isinstance(results, ChaosError):
            codes.append(_refused(str(run.where) if str(run.where) in str(results) else text, results))
            continue
        told = read_run(run.home)
        codes.append(exit_code(results.answer, interrupted=told.interrupted, broke=told.broke))
        if as_json:
            tell(msgspec.json.encode(as_object(text, results)).decode())
        elif only:
            tell(rows_of(text, results, text_style()))
        elif isinstance(place(text), Remote):
            tell(summary(run.home, text, text_style()))
        else:
            try:
                write(run.home)
            except HistoryError as error:  # the verdict does not need what the page does
                codes[-1] = _refused(text, error)
            else:
                tell(summary(run.home, style=text_style()))
    return codes


def _none_at_hand(paths: Sequence[str], found: Sequence[object], outputs: CheckOutputs) -> list[int]:
    """The exit codes where no path leads to anything."""
    refused = [(text, one) for text, one in zip(paths, found, strict=True) if isinstance(one, ChaosError)]
    for text, error in refused:
        outputs.add(text, error)
    return [_refused(text, error) for text, error in refused]


def _value(text: str) -> str | int:
    """A value of the command line as histories have it: a whole number or a keyword if it is one."""
    from chaos.formats.edn import Keyword

    if text.removeprefix("-").isdecimal():
        return int(text)
    return Keyword(text) if text.startswith(":") else text


def _file(text: str, format_name: str, *, far: bool) -> Place | ChaosError:
    """Where a file is, if it is there; or a folder, where that is what the format has.

    Args:
        text: as it was typed.
        format_name: the format.
        far: only executors of a cluster may see it; they say so if they do not.
    """
    try:
        where = place(text)
        if far or where.is_file():
            return where
        is_folder = isinstance(where, Path) and where.is_dir()
        if is_folder:
            from chaos.formats.registry import format_named

            if format_named(format_name).is_folder:
                return where
        fault = "a folder, not a file; leave out --format for a run folder" if is_folder else "there is no such file"
        return HistoryError(f"{text}: {fault}")
    except ChaosError as error:
        return error
    except OSError as error:
        return HistoryError(f"{text}: {error.strerror}")


def _files(
    paths: tuple[str, ...],
    format_name: str,
    engine: str,
    scratch: Path | None,
    given: dict[str, Any],
    outputs: CheckOutputs,
    *,
    far: bool,
    as_json: bool,
    report: Path | None,
) -> list[int]:
    seen = [_file(text, format_name, far=far) for text in paths]
    files = [file for file in seen if not isinstance(file, ChaosError)]
    if not files:
        return _none_at_hand(paths, seen, outputs)
    from chaos.run.judging import judge_imported
    from checkers.imported.options import Question, model_for
    from reports.summary.imported import figures_object, summary

    if "consistency_models" in given:
        given["consistency_models"] = tuple(name for one in given["consistency_models"] for name in one.split(","))
    if "init" in given:
        given["init"] = _value(given["init"])
    question = Question(format=format_name, model=model_for(format_name, given.pop("model", None)), **given)
    with Bar(sys.stderr) as bar, progress.listening(bar):
        judged = iter(judge_imported(files, question, engine, scratch))
    codes = []
    for text, file in zip(paths, seen, strict=True):
        results = file if isinstance(file, ChaosError) else next(judged)
        if not isinstance(results, ChaosError):
            results = outputs.gated(results)
        outputs.add(text, results)
        if isinstance(results, ChaosError):
            codes.append(_refused(text, results))
            continue
        codes.append(exit_code(results.answer))
        if report is not None and not isinstance(file, ChaosError):
            write_page(report, text, file, question, results)
        whole = {**as_object(text, results), "figures": figures_object(results)}
        tell(msgspec.json.encode(whole).decode() if as_json else summary(text, results, text_style()))
    return codes
