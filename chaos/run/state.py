"""What one run holds while it goes: what was asked for, what that means, its folder, its events, its phases."""

from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec

from chaos.core.events import RUN_EVENTS, EventLog
from chaos.core.model import Model
from chaos.core.op import Word
from chaos.models.registry import model_named
from chaos.options.experiment import Experiment, as_yaml
from chaos.options.planning import mix_of, plan_of, workload_of
from chaos.options.system_under_test import system_of
from chaos.run.first_run_info import first_info
from chaos.run.interrupts import Interrupts
from chaos.run.phases import Phases
from chaos.run.store import make_run_folder
from chaos.run.watching import Watcher
from chaos.storage.runinfo import RunInfo, write_run
from chaos.workload.base import Workload
from cluster import existing_cluster
from cluster.system import System
from nemesis.plan.nemesis_names import words
from nemesis.plan.plan_file import write_plan


class RunState:
    """One run; making it makes its folder.

    ``mix``: word to operations, in proportion to the rate. ``changes``: what operations are called that change
    the object. ``left_out``: lines about planned faults that cannot be. ``info``: what ``run.json`` says.
    ``judge_loading``: loads what will judge the run, once its load is over.

    Args:
        experiment: what was asked for.
        backend: makes the hosts.
        argv: the command line that asked for it.
        watcher: looks on.

    Raises:
        UsageError: the run cannot begin; nothing was made.
    """

    def __init__(self, experiment: Experiment, backend: Any, argv: tuple[str, ...], watcher: Watcher) -> None:
        self.experiment = experiment
        self.watcher = watcher
        self.say = watcher.say
        self.interrupts = Interrupts(watcher.say)
        self.backend = backend
        self.system: System = system_of(experiment)
        self.workload: Workload = workload_of(experiment)
        self.model: Model = model_named(self.workload.model)
        self.mix: Mapping[Word, float] = mix_of(experiment, self.system)
        changing = frozenset(f for f, function in self.model.functions.items() if function.mutates)
        self.changes = next((f"{f.word}s" for f in self.mix if f in changing), "changes")
        self.topology = self.system.topology(experiment.settings)
        if experiment.reuse:
            used = [spec.role for spec in self.topology]
            existing_cluster.read(Path(experiment.reuse), self.system.roles, used)  # refused before anything is made
        self.left_out: list[str] = []
        self.plan = plan_of(experiment, self.system, backend, self.left_out.append)
        self.folder = make_run_folder(Path(experiment.store), _group(experiment))
        self.info: RunInfo = first_info(
            run_id=self.folder.name,
            argv=argv,
            experiment=experiment,
            system=self.system,
            workload=self.workload,
            model=self.model,
            mix=self.mix,
            plan=self.plan,
            backend=backend.name,
        )
        write_run(self.folder, self.info)
        (self.folder / "config.yaml").write_text(as_yaml(experiment))
        write_plan(self.plan, self.folder / "plan.jsonl")
        self.events = EventLog(self.folder / "history" / RUN_EVENTS, watcher.event)
        self.phases = Phases(self.events, watcher.say)
        self.phase = self.phases.phase
        self.judge_loading: Thread | None = None

    def note(self, **changes: Any) -> None:
        """Change ``run.json``."""
        self.info = msgspec.structs.replace(self.info, timings_s=dict(self.phases.timings_s), **changes)
        write_run(self.folder, self.info)

    def keep_notes(self) -> None:
        """What the backend saw goes into the history; what a person should know is also said."""
        for note in self.backend.notes():
            self.events.emit(note)
            if note.data.get("warning"):
                self.say(f"warning  {note.text}")

    def check_insisted(self) -> None:
        """Raise RunInterrupted if somebody wants to leave at once; tell now and then that a phase goes on."""
        self.interrupts.check_insisted()
        self.phases.remind()


def _group(experiment: Experiment) -> str:
    """The folder that runs like this one share."""
    faults = "mix" if len(words(experiment.nemesis)) > 1 else experiment.nemesis.replace("@", "-").replace("+", "-")
    return f"{experiment.system}-{experiment.workload}-{faults}"
