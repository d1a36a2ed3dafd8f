"""Refuse hosts that cannot do what is planned, before the load begins."""

from collections.abc import Mapping, Sequence
from typing import Final

from chaos.core.errors import CapabilityError
from cluster.cluster import Cluster
from nemesis.faults.fault import Fault, on_each
from nemesis.plan.plan import Row

TRY_TIMEOUT_S: Final = 60.0


def check_hosts(plan: Sequence[Row], cluster: Cluster, faults: Mapping[str, type[Fault]]) -> None:
    """Refuse hosts that cannot do what is planned; faults that try it on them take up to a second.

    Raises:
        CapabilityError: a host lacks what a planned fault needs.
    """
    for kind in sorted({row.fault for row in plan}):
        fault = faults[kind]
        roles = sorted({role for row in plan if row.fault == kind for role in row.roles})
        hosts = {node.name: node.host for role in roles for node in cluster.of_role(role)}
        for name, host in hosts.items():
            if missing := ", ".join(sorted(fault.needs - host.capabilities)):
                raise CapabilityError(f"{name}: cannot {kind} here, it lacks {missing}; see: chaos doctor")
        tried = on_each(hosts, lambda name: fault.obstacle(hosts[name]), f"trying {kind}", TRY_TIMEOUT_S)  # noqa: B023 - it ends here
        for name, why in tried.check(f"trying {kind}").items():
            if why is not None:
                raise CapabilityError(f"{name}: cannot {kind} here: {why}; see: chaos doctor")
