"""What a hunt may draw on one system and backend, and the runs that it draws."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from chaos import plugins
from chaos.backend_choice import choose_backend
from chaos.core.errors import ChaosError, UsageError
from chaos.hunt.candidate import Candidate
from chaos.hunt.draw import Space, options_of
from chaos.hunt.hunt import planned_candidate
from chaos.options.experiment import Experiment
from chaos.options.planning import mix_of
from chaos.options.resolve import experiment_of
from chaos.options.system_under_test import system_of
from cluster.host import RunsHere
from cluster.leaders import subjects_of
from nemesis.faults.registry import faults_on
from nemesis.plan.capabilities import missing_here
from nemesis.plan.mix import parse_mix
from nemesis.plan.nemesis_names import ALL, NOOP
from nemesis.plan.plan import possible_of
from nemesis.targets.topology import Topology

_SAME: Final = ("system", "backend", "bug", "driver", "store")
_REDRAWS: Final = 20
"""A run that is drawn and cannot begin is drawn anew at most so often."""


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A system on a backend. ``own``: the options of every run; ``simulated``: whether its time is."""

    own: Mapping[str, Any]
    space: Space
    backend: str
    simulated: bool

    @property
    def about(self) -> dict[str, Any]:
        """What decides the runs beside the seed."""
        own = {name: value for name, value in self.own.items() if name != "store"}
        return {**own, "workloads": self.space.workloads, "nemeses": self.space.nemeses, "fixed": self.space.fixed}

    @property
    def words(self) -> str:
        """How much there is to draw from."""
        return f"{len(self.space.nemeses)} nemeses, workloads {' '.join(self.space.workloads)}"

    def drawn(self, seed: int, number: int) -> tuple[Experiment, Candidate]:
        """The run of a number.

        Raises:
            UsageError: no run can begin that is drawn.
        """
        error: ChaosError | None = None
        for again in range(_REDRAWS):
            try:
                drawn = options_of(seed, number + again * 2**40, self.space)
                experiment = experiment_of({**self.own, **drawn})
                backend, _ = choose_backend(experiment.backend, experiment.backend_options)
                return experiment, planned_candidate(experiment, system_of(experiment), backend)
            except ChaosError as problem:
                error = problem
        raise UsageError(f"no run that is drawn can begin: {error}")


def topology_of(experiment: Experiment) -> Topology:
    """The nodes of a run and what they lead."""
    system = system_of(experiment)
    subjects = subjects_of(system, experiment.settings, experiment.keys)
    return Topology.of(system.topology(experiment.settings), system.roles, subjects)


def setting_of(options: Mapping[str, Any]) -> Setting:
    """What options ask for: ``_SAME``, ``pairs``, ``workloads``, ``nemeses``, ``rate`` and ``time_limit_s``.

    Raises:
        UsageError: unknown or impossible.
    """
    own: dict[str, Any] = {name: options[name] for name in _SAME if options.get(name) is not None}
    own["pairs"] = tuple(options.get("pairs") or ())
    base = experiment_of({**own, "nemesis": NOOP})
    backend, _ = choose_backend(base.backend, base.backend_options)
    missing = missing_here(faults_on(base.kill), backend.lacks, here=backend.on_this_machine)
    topology = topology_of(base)
    asked = options.get("nemeses") or (ALL,)
    if NOOP in asked:
        raise UsageError(f"--nemesis {','.join(asked)}: {NOOP} breaks nothing; name faults, or leave it out for all")
    nemeses = tuple(choice.text for choice in possible_of(parse_mix(",".join(asked), topology, missing), topology))
    fixed = {name: options[name] for name in ("rate", "time_limit_s") if options.get(name) is not None}
    space = Space(workloads=_workloads(own, options.get("workloads") or ()), nemeses=nemeses, fixed=fixed)
    return Setting(own=own, space=space, backend=backend.name, simulated=isinstance(backend, RunsHere))


def _workloads(own: Mapping[str, Any], asked: tuple[str, ...]) -> tuple[str, ...]:
    """The workloads that were asked for, each of which must do; else all that do."""
    found: list[str] = []
    for name in asked or plugins.names("workloads"):
        try:
            experiment = experiment_of({**own, "workload": name})
            mix_of(experiment, system_of(experiment))
        except UsageError:
            if asked:
                raise
            continue
        if name in found:
            raise UsageError(f"--workload {','.join(asked)}: {name} is named twice")
        found.append(name)
    return tuple(found)
