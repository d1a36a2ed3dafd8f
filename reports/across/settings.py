"""What was asked for in a run and where it ran, name by name, and in which of it runs differ. Pure."""

from collections.abc import Sequence

import msgspec

from chaos.storage.runinfo import RunInfo
from reports import words

_ASKED = (
    "system",
    "system_version",
    "artifacts",
    "backend",
    "workload",
    "nemesis",
    "keys",
    "rate",
    "clients",
    "workers",
    "op_timeout_s",
    "time_limit_s",
    "fault_interval_s",
    "fault_duration_s",
    "route_poll_interval_s",
    "rto_budget_s",
    "body_bytes",
    "checks",
)
"""Fields of a run that somebody chose. The seed is no setting: it is told beside the run."""
_ABSENT = "—"


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """A setting in which runs differ: its value in each of them."""

    name: str
    values: tuple[str, ...]


def settings_of(run: RunInfo) -> dict[str, str]:
    """Every setting of a run as text: its options, ``mix.*``, ``settings.*``, and its ``machine.*``."""
    fields = msgspec.to_builtins(run)
    roles: dict[str, int] = {}
    for node in run.nodes:
        roles[node.role] = roles.get(node.role, 0) + 1
    machine = {name: value for name, value in run.machine.items() if name != "revision"}
    rows = [(name.removesuffix("_s").replace("_", "-"), words.cell_text(fields[name])) for name in _ASKED]
    rows.append(("nodes", ", ".join(words.plural(number, role) for role, number in roles.items())))
    rows += words.flat_rows(run.mix, "mix")
    rows += words.flat_rows(run.settings, "settings")
    rows += words.flat_rows(machine, "machine")
    return dict(rows)


def changed_settings(runs: Sequence[RunInfo]) -> tuple[Changed, ...]:
    """The settings in which runs differ, in the order in which they are told of a run."""
    told = [settings_of(run) for run in runs]
    names = dict.fromkeys(name for one in told for name in one)
    rows = (Changed(name=name, values=tuple(one.get(name) or _ABSENT for one in told)) for name in names)
    return tuple(row for row in rows if len(set(row.values)) > 1)
