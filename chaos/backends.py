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
    from cluster.facts import namespaces

    missing = [fact for fact in namespaces() if not fact.ok and not fact.optional]
    if not missing:
        return plugins.load("backends", "netns")(), " (auto: this machine can make rootless network namespaces)"
    raise CapabilityError(f"no backend can run here: {missing[0].name}: {missing[0].detail}; {missing[0].help}")
