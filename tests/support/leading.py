"""Subjects, leaders and observations of them in few words: one replica group called brokers, and the controllers."""

from chaos.core.events import Claim, Observation
from chaos.storage.runinfo import Subject
from cluster.leaders import Lead

GROUP, CONTROLLERS = "brokers", "controller"


def subjects_of(nodes):
    """One group of all brokers and the controllers, as far as there are such nodes (anything with name and role)."""
    names = {role: tuple(node.name for node in nodes if node.role == role) for role in ("broker", "controller")}
    group = Subject(name=GROUP, nodes=names["broker"])
    controllers = Subject(name=CONTROLLERS, kind="controller", nodes=names["controller"])
    return tuple(one for one in (group, controllers) if one.nodes)


def leads(master=None, controller=None, *, epoch=None, members=()):
    """Who leads the group and who the controllers."""
    group = Lead(subject=GROUP, leader=master, epoch=epoch, members=members)
    return {GROUP: group, CONTROLLERS: Lead(subject=CONTROLLERS, kind="controller", leader=controller)}


def said(time_ns, node, role=None, epoch=None, *, group=GROUP, master=None, members=None, number=None, decided=None):
    """What a node said: a master of itself, a leading controller of itself and of the group's master.

    ``epoch``: the master's epoch or the controller's term; ``decided``: the epoch that a controller gave ``master``;
    ``number``: of the set of ``members``. A slave may say whom it follows (``master``).
    """
    about = Claim(subject=group, leader=master, epoch=decided, members=members, members_epoch=number)
    own = {
        "master": (Claim(subject=group, leader=node, epoch=epoch, members=members, members_epoch=number),),
        "leader": (
            Claim(subject=CONTROLLERS, leader=node, epoch=epoch),
            *([about] if master is not None or members is not None else []),
        ),
    }
    claims = own.get(role, (about,) if master is not None else ())
    return Observation(
        time_ns=time_ns, asked_ns=time_ns, node=node, alive=True, role=role, claims=None if role is None else claims
    )
