"""``chaos up``, ``status``, ``inject``, ``heal`` and ``down``: break a cluster by hand.

The cluster belongs to a process of its own, which keeps a socket in the store; these commands speak with it.
"""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from chaos.basics.amounts import BOUNDS, SEED
from chaos.basics.rand import SEEDS
from chaos.cli.completion.values import offer
from chaos.cli.options.amount_type import AmountType
from chaos.cli.options.run_options import STORE_OPTION, cluster_options
from chaos.cli.options.sections import SectionCommand
from chaos.cli.output import complain, text_style
from chaos.core.errors import ChaosError, UsageError
from chaos.manual.control_socket import Done, Question, answers_there, ask
from chaos.options.resolve import experiment_of

GROUP: Final = "up"
CURRENT: Final = f"{GROUP}/current"
LOG: Final = "logs/up.log"
_ANSWER_TIMEOUT_S: Final = 300.0
_NAMED: Final = 3
"""Of more subjects than this only the number is shown."""
_STATUS_TIMEOUT_S: Final = 30.0
_POLL_S: Final = 0.2
_END_TIMEOUT_S: Final = 120.0


@click.command("up", cls=SectionCommand)
@cluster_options
@click.option("--foreground", is_flag=True, help="Keep the cluster up in this process until Ctrl-C.")
def up_command(foreground: bool, **options: Any) -> int:
    """Start a cluster without load and leave it running: for status, inject and heal; down ends it."""
    from chaos.backend_choice import choose_backend
    from chaos.options.experiment import as_yaml
    from chaos.run.store import make_run_folder

    experiment = experiment_of(options)
    backend, why = choose_backend(experiment.backend, experiment.backend_options)  # refused before anything is made
    store = Path(experiment.store)
    if answers_there(store / CURRENT):
        raise UsageError("a cluster is up in this store already; end it with chaos down, or use another --store")
    folder = make_run_folder(store, GROUP, CURRENT)
    (folder / "config.yaml").write_text(as_yaml(experiment))
    if not foreground:
        return _in_background(folder)
    from chaos.cli.run import progress
    from chaos.manual.manual_cluster import keep_up

    say = progress()
    say(f"backend  {backend.name}{why}")
    return keep_up(experiment, backend, folder, say)


def _in_background(folder: Path) -> int:
    """Start the process that keeps the cluster, show its output until it serves, and leave it."""
    log = folder / LOG
    with log.open("ab") as words:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "chaos.manual.manual_cluster", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": _root()},
        )
    try:
        return show_until_it_serves(keeper, folder)
    except KeyboardInterrupt:
        keeper.send_signal(signal.SIGTERM)
        keeper.wait(_END_TIMEOUT_S)
        raise


def show_until_it_serves(keeper: "subprocess.Popen[bytes]", folder: Path) -> int:
    """Print what the process that keeps a cluster writes to its log, to the line with which it serves; an exit code."""
    log, position = folder / LOG, 0
    while True:
        ended = keeper.poll()
        serves = ended is None and _answers_status(folder)
        text = log.read_bytes()[position:]
        position += len(text)
        click.echo(text.decode(errors="replace"), nl=False)
        if ended is not None:
            complain(f"the cluster did not come up; read why in {log}")
            return ended if ended > 0 else 255
        if serves:
            click.echo(str(folder))
            return 0
        _wait(_POLL_S)


def _answers_status(folder: Path) -> bool:
    """Whether the cluster of this folder answers; what its process said before that is in its log then."""
    try:
        return any(isinstance(answer, Done) for answer in ask(folder, Question(verb="status"), _STATUS_TIMEOUT_S))
    except ChaosError:  # it does not listen yet, or its process ended: ``show_until_it_serves`` looks at that
        return False


def _wait(seconds: float) -> None:
    from chaos.core.clock import Deadline

    Deadline("a moment", seconds).wait()


def _root() -> str:
    """Where our packages are, so that the keeper finds the same ones."""
    import chaos

    known = os.environ.get("PYTHONPATH", "")
    root = str(Path(chaos.__file__).resolve().parent.parent)
    return f"{root}:{known}" if known else root


def _put(store: str, question: Question, timeout_s: float) -> Done:
    """Put a question to the store's cluster, print what it says, and give its end."""
    for answer in _answers(store, question, timeout_s):
        if isinstance(answer, Done):
            if answer.error:
                complain(answer.error)
            return answer
        click.echo(answer.text)
    raise AssertionError("an answer ends with Done or raises")


def _answers(store: str, question: Question, timeout_s: float) -> Iterator[Any]:
    return ask(Path(store) / CURRENT, question, timeout_s)


@click.command("status")
@STORE_OPTION
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array, an object per node.")
def status_command(store: str, as_json: bool) -> int:
    """Show every node: role, address, state, who leads, and the fault in force."""
    done = _put(store, Question(verb="status"), _STATUS_TIMEOUT_S)
    if as_json:
        click.echo(msgspec.json.encode(done.nodes).decode())
        return done.code
    head = ("NODE", "ROLE", "ADDRESS", "STATE", "LEADS", "EPOCH", "FAULT")
    cells = [
        (
            node.node,
            node.role,
            node.address,
            node.state,
            _leads(node.leads),
            "-" if node.epoch is None else str(node.epoch),
            node.fault or "-",
        )
        for node in done.nodes
    ]
    for line in text_style().table(head, cells, elastic=(head.index("FAULT"), head.index("LEADS"))):
        click.echo(line)
    return done.code


def _leads(subjects: Sequence[str]) -> str:
    """The subjects that a node leads: by name, of many their number."""
    return ", ".join(subjects) or "-" if len(subjects) <= _NAMED else f"{len(subjects)} subjects"


@click.command("inject")
@click.argument("nemesis", shell_complete=offer("one nemesis"))
@STORE_OPTION
@click.option(
    "--duration",
    type=AmountType(BOUNDS["fault_duration_s"]),
    default=None,
    help="Heal it after so long, e.g. 20 or 1m.",
)
@click.option(
    "--fault-nodes", "-n", default="", metavar="NODES", help="Hit these nodes with a fixed- nemesis, e.g. b1,b2."
)
@click.option("--seed", type=AmountType(SEED), default=None, help="Draw the targets from this seed.")
def inject_command(nemesis: str, store: str, duration: float | None, fault_nodes: str, seed: int | None) -> int:
    """Do one fault to the cluster, prove it, and leave it in force, e.g. leader-partition.

    Exit code 0 if it is proven, 2 if it is not, 255 if it could not be done.
    """
    from nemesis.plan.nemesis_names import MANY, words

    if len(words(nemesis)) > 1 or nemesis.strip() in MANY:
        raise UsageError(f"inject {nemesis}: one fault at a time; name one of chaos list nemeses")
    names = tuple(name.strip() for name in fault_nodes.replace(";", ",").split(",") if name.strip())
    question = Question(
        verb="inject",
        nemesis=nemesis,
        duration_s=duration,
        fault_nodes=names,
        seed=secrets.randbelow(SEEDS) if seed is None else seed,
    )
    return _put(store, question, _ANSWER_TIMEOUT_S).code


@click.command("heal")
@STORE_OPTION
def heal_command(store: str) -> int:
    """Undo the fault in force, and prove that nothing of it is left."""
    return _put(store, Question(verb="heal"), _ANSWER_TIMEOUT_S).code


@click.command("down")
@STORE_OPTION
def down_command(store: str) -> int:
    """End the cluster after healing it; keep its logs."""
    from chaos.core.clock import Deadline

    folder = (Path(store) / CURRENT).resolve()
    done = _put(store, Question(verb="down"), _STATUS_TIMEOUT_S)
    deadline = Deadline("the cluster to go down", _END_TIMEOUT_S)
    while answers_there(folder):
        deadline.check(f"read why in {folder / LOG}")
        _wait(_POLL_S)
    click.echo(f"down     logs are in {folder}")
    return done.code
