"""From specifications to a cluster that serves: hosts, files, processes, readiness.

Everything that is started is registered with the caller's exit stack before anything can fail. Does not load, break or
judge.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec

import chaos
from chaos.core import waiting
from chaos.core.clock import Deadline, now_ns
from chaos.core.errors import CapabilityError, ChaosError, DeployError
from chaos.core.events import LEFT_BEHIND, OBSERVE_PERIOD_S, Note
from chaos.options.experiment import Experiment
from chaos.storage.runinfo import NodeInfo
from chaos.worker.messages import Answer, AskReady, ObserverSpec, Prepare, Remove, Removed
from chaos.worker.pipe import Inside
from cluster import existing_cluster
from cluster.admin import admin_of
from cluster.cluster import Cluster, Node, Relaunch
from cluster.host import Backend, Host, NodeSpec, check_programs
from cluster.leaders import subjects_of
from cluster.nodes import process
from cluster.relaunch import launch_of
from cluster.system import ClusterView, Launch, Removal, System
from nemesis.arming import Arming, Armings, launch_under

_REMOVE_TIMEOUT_S = 60.0
NOTHING_ARMED: Final[Armings] = MappingProxyType({})
NO_VERSIONS: Final[Mapping[str, Path]] = MappingProxyType({})


class Deployed(msgspec.Struct, frozen=True):
    """A cluster whose processes run; whether it serves is for ``await_ready`` to say."""

    cluster: Cluster
    view: ClusterView
    client_host: Host
    backend: Backend


def child_environment(run_id: str) -> dict[str, str]:
    """The environment of worker and observer processes: they find the same packages as this process."""
    root = str(Path(chaos.__file__).resolve().parent.parent)
    known = os.environ.get("PYTHONPATH", "")
    return {**os.environ, "CHAOS_RUN": run_id, "PYTHONPATH": f"{root}:{known}" if known else root}


def python_inside(module: str) -> list[str]:
    """The argv of one of our modules as a process."""
    return [sys.executable, "-m", module]


def bring_up(
    experiment: Experiment,
    system: System,
    backend: Backend,
    folder: Path,
    artefacts: Path | None,
    undo: ExitStack,
    armings: Armings = NOTHING_ARMED,
    versions: Mapping[str, Path] = NO_VERSIONS,
) -> Deployed:
    """Make the hosts, prepare them for faults, and start every node's process.

    ``versions``: the artefacts of other versions, as which nodes may be started again.

    Raises:
        CapabilityError: the machine cannot do it.
        DeployError: a process did not start.
    """
    run_id = folder.name
    specs = system.topology(experiment.settings)
    undo.callback(backend.down)
    provided = backend.provide(artefacts) if artefacts is not None else ""
    programs = {"": provided, **{version: backend.provide(folder) for version, folder in versions.items()}}
    hosts = backend.up(run_id, specs, folder / "nodes")
    if not experiment.reuse:
        check_hosts(specs, hosts, backend.name)
    infos = tuple(NodeInfo(name=s.name, role=s.role, address=hosts[s.name].address) for s in specs)
    view = ClusterView(run_id=run_id, nodes=infos, settings=experiment.settings, keys=experiment.keys)
    launches = _launches(experiment, system, hosts, view, provided)
    nodes = {
        info.name: Node(info, host := hosts[info.name], _armed(info, host, launches[info.name], armings))
        for info in infos
    }
    cluster = Cluster(run_id, nodes, dict(system.roles), subjects_of(system, experiment.settings, experiment.keys))
    if not experiment.reuse:
        undo.callback(remove_data, cluster)
    if experiment.reuse and armings:
        raise CapabilityError("a planned fault must prepare hosts before nodes start; leave out --reuse")
    for arming, its_roles in armings.items():
        on_all(arming.arm, arm_nodes(cluster, arming, its_roles, undo))
    if not experiment.reuse:
        undo.callback(end_processes, cluster)
    start_processes(cluster, system.start_order, experiment.ready_deadline_s, undo)
    return Deployed(
        msgspec.structs.replace(
            cluster,
            admin=admin_of(system, view, hosts["client"]),
            launch_again=None if experiment.reuse else _launch_again(system, view, programs, armings),
        ),
        view,
        hosts["client"],
        backend,
    )


def _launches(
    experiment: Experiment, system: System, hosts: Mapping[str, Host], view: ClusterView, provided: str
) -> dict[str, Launch]:
    """How each node is started: as the system says, or as the user says of a cluster that is there already."""
    if experiment.reuse:
        commands = existing_cluster.read(Path(experiment.reuse), system.roles, [node.role for node in view.nodes])
        return {
            node.name: existing_cluster.launch(commands[node.role], node, hosts[node.name].home) for node in view.nodes
        }
    return {node.name: system.launch(node, hosts[node.name].home, provided, view) for node in view.nodes}


def _launch_again(
    system: System, view: ClusterView, programs: Mapping[str, str], armings: Armings
) -> Callable[[Node, Relaunch], Launch]:
    """How nodes are started again otherwise; ``programs``: by version, where it is on hosts."""

    def launch(node: Node, relaunch: Relaunch) -> Launch:
        if relaunch.version not in programs:
            raise DeployError(f"{system.name} {relaunch.version} was not fetched before the cluster came up")
        other = launch_of(system, view, node, relaunch, programs[relaunch.version])
        return _armed(node.info, node.host, other, armings)

    return launch


def check_hosts(specs: Sequence[NodeSpec], hosts: Mapping[str, Host], where: str) -> None:
    """Refuse hosts that lack what their nodes need."""
    for spec in specs:
        if spec.programs:
            check_programs(hosts[spec.name], spec.programs, f"this host ({where})")


def _armed(info: NodeInfo, host: Host, launch: Launch, armings: Armings) -> Launch:
    """How a node is started as its armings need it."""
    its = [arming for arming, roles in armings.items() if info.role in roles]
    return launch_under(its, launch, host.home)


def arm_nodes(cluster: Cluster, arming: Arming, roles: Iterable[str], undo: ExitStack) -> Sequence[Node]:
    """The nodes of these roles; what arms them is undone once their processes have ended."""
    nodes = [node for role in sorted(roles) for node in cluster.of_role(role)]

    def disarm(node: Node) -> None:
        with suppress(ChaosError):
            arming.disarm(node)

    undo.callback(on_all, disarm, nodes)
    return nodes


def start_processes(cluster: Cluster, order: Sequence[Sequence[str]], within_s: float, undo: ExitStack) -> None:
    """Start every node's process, roles in this order, and wait until all have come up; adopt what runs already."""
    deadline = Deadline("every node's process to come up", within_s)

    def start(node: Node) -> None:
        if not (node.launch.found_by and process.adopt(node)):
            if node.launch.stop:
                undo.callback(process.stop, node)
            process.start(node, cluster.run_id)
        process.await_ready(node, deadline)

    for roles in order:
        on_all(start, [node for node in cluster.nodes.values() if node.info.role in roles])


def end_processes(cluster: Cluster) -> None:
    """End the processes of all nodes at once."""

    def end(node: Node) -> None:
        with suppress(ChaosError):
            process.kill(node)

    on_all(end, cluster.nodes.values())


def remove_data(cluster: Cluster) -> None:
    """Remove what processes that have ended stored; logs stay."""

    def remove(node: Node) -> None:
        with suppress(ChaosError):
            paths = [f"{node.host.home}/{name}" for name in node.launch.data]
            if paths:
                node.host.run("rm", "-rf", "--", *paths, timeout_s=30)

    on_all(remove, cluster.nodes.values())


def on_all(act: Callable[[Node], Any], nodes: Iterable[Node]) -> None:
    """Do something to every node at once; the first failure is raised after all have ended."""
    waiting.at_once([partial(act, node) for node in nodes], "deploy")


def start_observer(experiment: Experiment, deployed: Deployed, folder: Path) -> Inside:
    """Start the observer process; it observes once it is told to."""
    spec = ObserverSpec(folder=str(folder), system=experiment.system, view=deployed.view, period_s=OBSERVE_PERIOD_S)
    env = child_environment(deployed.view.run_id)
    return Inside(deployed.backend, "observer", python_inside("chaos.worker.observer"), env, spec)


def prepare(experiment: Experiment, observer: Inside, timeout_s: float, interrupted: Callable[[], None]) -> Answer:
    """Wait until the cluster is complete, create what the workload needs, and see it complete again.

    The settings are proven to be in effect; on a cluster that was there before, those that somebody asked for, and
    what holds of the others is in the answer.

    Raises:
        DeadlineError: not ready in time; the message says what was missing last.
        DeployError: the system refused, or a setting is not in effect.
    """
    deadline = Deadline("the cluster to be ready", timeout_s)
    _await_readiness(observer, deadline, interrupted)
    observer.send(Prepare(asked=asked_settings(experiment) if experiment.reuse else None))
    answer = observer.take(Answer, Deadline("what the load needs to be made", deadline.remaining_s()))
    if answer.text:
        raise DeployError(answer.text)
    _await_readiness(observer, deadline, interrupted)
    return answer


def asked_settings(experiment: Experiment) -> tuple[str, ...]:
    """The settings that somebody or something asked for, by full name: all but the defaults."""
    return tuple(name for name in experiment.settings if f"settings.{name}" in experiment.origins)


def remove_names(observer: Inside, view: ClusterView) -> Note:
    """Have what the run made on a cluster that goes on without it removed; the note says what became of it."""
    try:
        observer.send(Remove())
        what = observer.take(Removed, Deadline("topics and groups to be removed", _REMOVE_TIMEOUT_S)).what
    except ChaosError as error:
        what = Removal(left=(f"topics and groups {view.mark}*: {error}",))
    said = (("removed from the cluster", what.removed), ("left on the cluster", what.left))
    text = "; ".join(f"{how}: {', '.join(things)}" for how, things in said if things)
    return Note(time_ns=now_ns(), name=LEFT_BEHIND, text=text, data={"removed": what.removed, "left": what.left})


def _await_readiness(observer: Inside, deadline: Deadline, interrupted: Callable[[], None]) -> None:
    missing = "no answer yet"
    while True:
        interrupted()
        deadline.check(missing)
        observer.send(AskReady())
        missing = observer.take(Answer, Deadline(f"the observer to say what is missing ({missing})", 30)).text
        if not missing:
            return
        Deadline("a moment", 0.2).wait()
