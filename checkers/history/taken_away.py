"""Whether a fault takes its targets away from everybody. Does not say whether it did: that is the fault's proof."""

from typing import Final

from checkers.history.check_input import Context
from checkers.history.timeline import FaultSpan

_TARGETED: Final = ("replica", "controller")


def kinds_hit(fault: FaultSpan, context: Context) -> set[str]:
    """What the roles are that a fault chose among; empty if it names none."""
    return {context.run.roles.get(role, "other") for role in fault.identity.roles}


def takes_away(fault: FaultSpan, context: Context) -> bool:
    """Whether its targets can reach no node while it lasts. Parted from replicas alone they reach controllers."""
    run, kinds = context.run, kinds_hit(fault, context)
    everybody = {run.roles.get(node.role, "other") for node in run.nodes} & set(_TARGETED)
    whole = fault.identity.nature.hits != "links" or not kinds or kinds >= everybody
    return fault.identity.nature.silences and whole
