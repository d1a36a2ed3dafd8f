"""Which backend a run uses. ``auto`` takes network namespaces where a probe by doing passes.

The module refuses to fall back in silence: the first line of a run names the backend and why.
"""

from typing import Any

from chaos import plugins
from chaos.core.errors import CapabilityError


def chosen(name: str) -> tuple[Any, str]:
    """The backend and a clause that says why it was chosen (empty if the user named it).

    Raises:
        CapabilityError: ``auto`` found none; the message says what helps.
        UsageError: no such backend.
    """
    if name != "auto":
        return plugins.load("backends", name)(), ""
    from cluster.facts import netns_obstacle

    obstacle = netns_obstacle()
    if obstacle is None:
        return plugins.load("backends", "netns")(), " (auto: this machine can make rootless network namespaces)"
    raise CapabilityError(f"no backend can run here: {obstacle}")
