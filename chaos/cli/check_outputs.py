"""What ``chaos check`` is asked for beside verdicts: thresholds, and one JUnit file and one summary of all paths."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click
import msgspec

from chaos.cli.options.sections import FROM_NEWEST
from chaos.core.errors import ChaosError, UsageError
from chaos.core.gate import FAIL_ON, Gates
from chaos.core.verdict import Results
from chaos.storage.runinfo import RunInfo

_FILE: Final = click.Path(dir_okay=False, path_type=Path)
JUNIT_OPTION: Final = click.option(
    "--junit",
    type=_FILE,
    metavar="FILE",
    help="Write JUnit's XML here: a suite a path.",
)
SUMMARY_OPTION: Final = click.option(
    "--summary", type=_FILE, metavar="FILE", help="Write the verdicts of all paths here as Markdown."
)


class CheckOutputs:
    """What was asked for, and what was found of each path so far.

    Args:
        thresholds: in place of those of each run; None: those.
        fail_on: likewise.
        junit: where JUnit's XML goes, if anywhere.
        summary: where Markdown goes, if anywhere.
    """

    def __init__(
        self,
        thresholds: tuple[str, ...] | None,
        fail_on: tuple[str, ...] | None,
        junit: Path | None,
        summary: Path | None,
    ) -> None:
        self._thresholds, self._fail_on = thresholds, fail_on
        self._junit, self._summary = junit, summary
        self._found: list[tuple[str, Results | ChaosError]] = []
        for option, path in (("--junit", junit), ("--summary", summary)):
            if path is not None and not path.absolute().parent.is_dir():
                raise UsageError(f"{option} {path}: there is no folder {path.parent}; make it first")

    def gates_of(self, run: RunInfo) -> Gates:
        """What is wanted of a run."""
        from chaos.gate.judge import gates_of

        own = gates_of(run)
        return msgspec.structs.replace(
            own,
            thresholds=own.thresholds if self._thresholds is None else self._thresholds,
            fail_on=own.fail_on if self._fail_on is None else self._fail_on,
        )

    def gated(self, results: Results) -> Results:
        """The verdict on an imported history, with what is wanted of it."""
        from chaos.gate.judge import with_gate

        gates = Gates(thresholds=self._thresholds or (), fail_on=self._fail_on or FAIL_ON)
        return with_gate(results, None, gates, datetime.now(UTC).date())

    def add(self, text: str, found: Results | ChaosError, home: Path | None = None) -> None:
        """Keep what was found of a path, or of the run in ``home``: its place from the newest says nothing later."""
        name = home.resolve().name if home is not None and FROM_NEWEST.fullmatch(text) else text
        self._found.append((name, found))

    def write(self) -> None:
        """Write the files.

        Raises:
            UsageError: one cannot be written.
        """
        for option, path, text in (("--junit", self._junit, _junit), ("--summary", self._summary, _summary)):
            if path is not None:
                try:
                    path.write_text(text(self._found), encoding="utf-8")
                except OSError as error:
                    raise UsageError(f"{option} {path}: {error.strerror}; name a file that can be written") from None


def _junit(found: Iterable[tuple[str, Results | ChaosError]]) -> str:
    from reports.junit import Case, cases_of, suite, suites

    made = []
    for text, one in found:
        if isinstance(one, ChaosError):
            cases = [Case(text, "check", "error", "broke", str(one))]
        else:
            cases = cases_of(text, one)
        made.append(suite(text, cases, sum(case.took_s or 0.0 for case in cases)))
    return suites(made)


def _summary(found: Sequence[tuple[str, Results | ChaosError]]) -> str:
    from reports.summary.markdown import verdicts

    return verdicts(found)
