"""``--threshold`` and ``--fail-on``: what somebody wants of a run beside correctness."""

from typing import Final

import click

from chaos.cli.options.sections import CHECKS, SectionOption
from chaos.core.errors import UsageError

EXAMPLE: Final = "'lost==0' or 'p99(send)<200ms'"
FAILING: Final = "Exit with 1 on these: anomalies, names of anomalies, thresholds, unknown."


def read_thresholds(ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...] | None:
    """Thresholds as they are stored; None if none is given."""
    if not values:
        return None
    from chaos.options.gates import checked_threshold

    own = ctx.params.get("format_name", "chaos") == "chaos"
    return tuple(checked_threshold(text, f"--threshold {text}", own_faults=own) for text in values)


def read_fail_on(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """What fails a build, with commas between; None if it is not given."""
    if value is None:
        return None
    from chaos.options.gates import checked_fail_on

    names = [name for name in value.split(",") if name.strip()]
    if not names:
        raise UsageError(f"--fail-on {value!r}: a name is missing; give anomalies, thresholds or unknown")
    return checked_fail_on(names, f"--fail-on {value}")


THRESHOLD_OPTION: Final = click.option(
    "--threshold",
    "thresholds",
    cls=SectionOption,
    section=CHECKS,
    multiple=True,
    callback=read_thresholds,
    metavar="THRESHOLD",
    help=f"Say FAIL unless this holds, e.g. {EXAMPLE}, in place of those of the run or file; repeatable.",
)
FAIL_ON_OPTION: Final = click.option(
    "--fail-on",
    cls=SectionOption,
    section=CHECKS,
    callback=read_fail_on,
    metavar="NAMES",
    help=f"{FAILING}  [default: those of the run or file, else anomalies,thresholds]",
)
