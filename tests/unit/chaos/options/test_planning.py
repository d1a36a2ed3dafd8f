"""What a run would refuse the plan refuses already."""

import pytest
from nemesis_texts import typed

from chaos.core.errors import CapabilityError
from chaos.options.planning import plan_of
from chaos.options.resolve import experiment_of
from chaos.options.system_under_test import system_of
from cluster.simulation.backend import SimBackend
from nemesis.faults.registry import faults
from nemesis.plan.nemesis_names import catalog

NEVER = sorted(name for name, fault in faults().items() if fault.needs & SimBackend.lacks.keys())


def planned(nemesis: str) -> list[str]:
    """The kinds of fault of a plan for simulated hosts."""
    experiment = experiment_of({"backend": "sim", "nemesis": nemesis, "time_limit_s": 60.0})
    rows = plan_of(experiment, system_of(experiment), SimBackend(), lambda _line: None)
    return [row.fault for row in rows]


@pytest.mark.parametrize("fault", NEVER)
def test_what_simulated_hosts_cannot_do_is_refused(fault: str) -> None:
    name = typed(next(entry.name for entry in catalog().values() if entry.fault == fault))
    with pytest.raises(CapabilityError, match=f"--nemesis {name}.*: simulated hosts have no "):
        planned(name)


def test_programs_are_among_it() -> None:
    assert {"stutter", "delay", "cpu-load", "syscall-error", "client-crash"} <= set(NEVER)


def test_what_they_can_do_is_planned() -> None:
    assert set(planned("leader-kill,random-loss,random-rolling-restart")) <= {
        "kill",
        "loss",
        "rolling-restart",
        "restart",
    }
    assert not set(planned("all")) & set(NEVER)
