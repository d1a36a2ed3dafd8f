"""What the words that stand for many names do not contain on a cluster, and why. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from chaos.storage.runinfo import Subject
from nemesis.faults.registry import fault_named
from nemesis.plan.mix import faults_in, parse_mix
from nemesis.plan.plan import NO_LEADERS, NOBODY_LEADS, obstacle_of
from nemesis.targets.topology import Placed, Topology


def left_out(
    nemesis: str,
    kinds: Mapping[str, str],
    nodes: Iterable[Placed],
    missing: Mapping[str, str],
    subjects: Sequence[Subject] = (),
) -> tuple[str, ...]:
    """What ``all`` or ``swarm`` leaves out here and why, a line each; nothing for names given one by one."""
    topology = Topology.of(nodes, kinds, subjects)
    mix = parse_mix(nemesis, topology, missing)
    if not mix.every:
        return ()
    obstacles = {choice.text: obstacle_of(choice, topology) for choice in mix.choices}
    without = (NOBODY_LEADS, NO_LEADERS)
    few = [text for text, why in obstacles.items() if why is not None and why not in without]
    leaderless = [text for text, why in obstacles.items() if why in without]
    own = faults_in(nemesis)
    absent = [(kind, why) for kind, why in missing.items() if fault_named(kind) in own]
    out = [f"{nemesis} leaves out every {kind} here: {why}" for kind, why in absent]
    out += [f"{nemesis} leaves out what needs more nodes: {', '.join(few)}"] if few else []
    out += [f"{nemesis} leaves out what needs a leader: {', '.join(leaderless)}"] if leaderless else []
    return tuple(out)
