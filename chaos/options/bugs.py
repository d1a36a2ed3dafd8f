"""The bugs that systems carry as switches: one by its name, all for a list, and what one means for a run.

What a bug declares are defaults of ``chaos run``: whatever somebody gives wins.
"""

from collections.abc import Mapping
from typing import Any

from chaos import plugins
from chaos.core.errors import UsageError
from chaos.options.experiment import with_defaults
from chaos.workload.base import AttemptsSends, Workload
from cluster.bug import SETTING, Bug
from cluster.system import System, bugs_of


def find(system: System, name: str) -> Bug:
    """The bug of this name.

    Raises:
        UsageError: the system has none, or none of this name, with a guess at what was meant.
    """
    bugs = bugs_of(system)
    if not bugs:
        raise UsageError(f"--bug {name}: {system.name} carries no bugs to switch on; see chaos list bugs")
    if name not in bugs:
        raise UsageError(f"--bug {name}: {system.name} has no such bug{plugins.did_you_mean(name, bugs)}")
    return bugs[name]


def settings_with(bug: Bug, asked: Mapping[str, str]) -> dict[str, str]:
    """The settings as asked for, with the bug's own where nobody asked for another value.

    Raises:
        UsageError: another bug was asked for as a setting.
    """
    if asked.get(SETTING, bug.name) != bug.name:
        raise UsageError(f"--bug {bug.name} and --set {SETTING}={asked[SETTING]}: two bugs at once; give one")
    return {**with_defaults(bug.settings, asked), SETTING: bug.name}


def check_workload(bug: Bug, chosen: Workload) -> None:
    """See that a workload does what the bug's own does, else the bug cannot show.

    Raises:
        UsageError: it does not; the message names what it lacks.
    """
    if chosen.name == bug.workload:
        return
    own: Workload = plugins.load("workloads", bug.workload)()
    lacking = [word.word for word in sorted(own.needs - chosen.needs)] if chosen.model == own.model else [own.model]
    if isinstance(own, AttemptsSends) and not isinstance(chosen, AttemptsSends):
        lacking.append("idempotent send")
    if lacking:
        raise UsageError(
            f"--bug {bug.name} and --workload {chosen.name}: the bug shows under the workload {bug.workload} alone"
            f" ({chosen.name} has no {', no '.join(lacking)}); leave --workload out"
        )


def options_of(bug: Bug) -> dict[str, Any]:
    """The options of ``chaos run`` that the bug decides unless they are given, by field name."""
    return {"workload": bug.workload, "nemesis": bug.nemesis, **bug.options}


def bug_rows() -> list[dict[str, str]]:
    """A row for each bug of each system that loads."""
    rows = []
    for row in plugins.list_group("systems"):
        if row.error is not None:
            continue
        for bug in bugs_of(plugins.load("systems", row.name)()).values():
            waits = f"; waits for {bug.waits_for}" if bug.waits_for else ""
            rows.append(
                {
                    "name": bug.name,
                    "system": row.name,
                    "workload": bug.workload,
                    "nemesis": bug.nemesis,
                    "anomaly": bug.anomaly,
                    "help": bug.help + waits,
                }
            )
    return rows
