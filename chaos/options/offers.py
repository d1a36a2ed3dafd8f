"""What each installed system is offered as: its versions, what a build of it holds, and what its clients can do."""

from contextlib import suppress

import msgspec

from chaos import plugins
from chaos.core.errors import UsageError
from chaos.options.planning import mix_of
from chaos.options.resolve import experiment_of
from cluster.system import System
from cluster.trial import trials_of
from cluster.versions import HasVersions, TakesBuilds

SYSTEMS = "systems"
WORKLOADS = "workloads"


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """One system. ``others``: its other versions, ``build``: what the folder of a build holds; empty if there is none.

    ``workloads``: those that its clients can do under some settings, sorted.
    """

    name: str
    help: str
    version: str
    others: str
    build: str
    workloads: tuple[str, ...]


def workloads_as_it_is(name: str, system: System) -> tuple[str, ...]:
    """The workloads that a system's clients can do with its own settings, sorted."""
    suited = []
    for workload in plugins.names(WORKLOADS):
        with suppress(UsageError):
            mix_of(experiment_of({"system": name, "workload": workload}), system)
            suited.append(workload)
    return tuple(suited)


def offers() -> list[Offer]:
    """Every system that loads, by name."""
    found = []
    for row in plugins.list_group(SYSTEMS):
        if row.error is None:
            system: System = plugins.load(SYSTEMS, row.name)()
            tried = (trial.workload for trial in trials_of(system))
            found.append(
                Offer(
                    name=row.name,
                    help=row.help,
                    version=system.version,
                    others=system.other_versions if isinstance(system, HasVersions) else "",
                    build=system.build_holds if isinstance(system, TakesBuilds) else "",
                    workloads=tuple(sorted({*workloads_as_it_is(row.name, system), *tried})),
                )
            )
    return found
