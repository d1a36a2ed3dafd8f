"""A whole ``chaos run`` as a function: the same plan, load, faults, recorder, checks and reports, on hosts of tests."""

from pathlib import Path
from typing import Any, Final, NamedTuple

from chaos.core.errors import ChaosError
from chaos.core.events import Event
from chaos.core.verdict import CheckResult, Results
from chaos.options.resolve import experiment_of
from chaos.run import phases_of_a_run
from chaos.run.watching import Beat, Opening
from chaos.testing.fake_backend import FakeBackend
from chaos.testing.fake_system import FakeSystem
from chaos.testing.temporary_plugins import offered
from cluster.system import System

SHORT: Final[dict[str, Any]] = {
    "nemesis": "noop",
    "rate": 200.0,
    "clients": 4,
    "workers": 2,
    "keys": 2,
    "op_timeout_s": 2.0,
    "time_limit_s": 0.5,
    "fault_interval_s": 0.1,
    "fault_duration_s": 0.3,
    "recovery_s": 0.1,
    "drain_deadline_s": 20.0,
    "ready_deadline_s": 20.0,
    "engine": "local",
    "seed": 1,
}
"""What ``run`` asks for unless it is told otherwise; the names are those of ``chaos.options.experiment.Experiment``."""


class Outcome(NamedTuple):
    """What came of a run: its folder, the verdict, the exit code of ``chaos run``, and the lines that were said."""

    folder: Path
    results: Results
    exit_code: int
    lines: tuple[str, ...]

    def check(self, name: str) -> CheckResult:
        """The row of a check in the verdict table.

        Raises:
            KeyError: it is not there; the message says why it declined, if it did.
        """
        for row in self.results.checks:
            if row.name == name:
                return row
        raise KeyError(f"{name}: {self.results.declined.get(name, 'it was not asked')}")


class _Listener:
    """Keeps the lines that a run says."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)

    def opening(self, opening: Opening) -> None: ...

    def event(self, event: Event) -> None: ...

    def beat(self, beat: Beat) -> None: ...


def run(store: Path, system: FakeSystem | str | None = None, **options: Any) -> Outcome:
    """Make one run and judge it, in one to two seconds. In the main thread, which hears interrupts.

    Args:
        store: a folder for the run's, e.g. pytest's ``tmp_path``.
        system: a fake one, by default one without a bug; or the name of a real one, whose processes then run here.
        options: of ``chaos run`` by field of ``Experiment`` (``nemesis="random-kill"``, ``checks=("mine",)``,
            ``time_limit_s=2.0``), beside those of ``SHORT``.

    Raises:
        UsageError: an option that cannot be.
        ChaosError: the run broke before it could be judged; the message says how.
    """
    fake = FakeSystem() if system is None else system
    name = fake if isinstance(fake, str) else fake.name
    heard = _Listener()
    with offered(systems=() if isinstance(fake, str) else (fake,)):
        experiment = experiment_of({**SHORT, "store": str(store), "system": name, "backend": "fake", **options})
        folder, results, code = phases_of_a_run.run(experiment, FakeBackend(), ("chaos.testing",), heard)
    return _outcome(folder, results, code, heard)


def simulate(store: Path, system: System | str = "minimq", **options: Any) -> Outcome:
    """Make one run in simulated time and judge it: a minute of the system in about a second.

    Args:
        store: a folder for the run's, e.g. pytest's ``tmp_path``.
        system: one that is ``cluster.simulation.core.Simulated``, or the name of an installed one.
        options: of ``chaos run`` by field of ``Experiment``; unlike ``run`` with the defaults of ``--backend sim``, and
            seed 1.

    Raises:
        UsageError: an option that cannot be, or a system that cannot be simulated.
        ChaosError: the run broke before it could be judged; the message says how.
    """
    from cluster.simulation.backend import SimBackend

    name = system if isinstance(system, str) else system.name
    heard = _Listener()
    with offered(systems=() if isinstance(system, str) else (system,)):
        asked = {"nemesis": "noop", "seed": 1, "store": str(store), "system": name, "backend": "sim", **options}
        folder, results, code = phases_of_a_run.run(experiment_of(asked), SimBackend(), ("chaos.testing",), heard)
    return _outcome(folder, results, code, heard)


def _outcome(folder: Path, results: Results | None, code: int, heard: _Listener) -> Outcome:
    if results is None:
        raise ChaosError("\n".join(heard.lines))
    return Outcome(folder, results, code, tuple(heard.lines))
