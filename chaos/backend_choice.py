"""Which backend a run uses.

``auto`` takes machines if the user names some, else network namespaces where a probe by doing passes, else a Docker
engine. The first line of a run names the backend and why it was chosen.
"""

from collections.abc import Mapping
from typing import Any

from chaos import plugins
from chaos.core.errors import CapabilityError, UsageError


def choose_backend(name: str, options: Mapping[str, Any]) -> tuple[Any, str]:
    """The backend and a clause that says why it was chosen (empty if the user named it).

    ``options``: what the user set for it, by name.

    Raises:
        CapabilityError: ``auto`` found none; the message says what helps.
        UsageError: no such backend, or it has no such option.
    """
    if name == "auto" and "nodes_file" in options:
        return _made("ssh", options), " (auto: --nodes-file names its hosts)"
    if name != "auto":
        return _made(name, options), ""
    from cluster.doctor import namespaces

    missing = [fact for fact in namespaces() if not fact.ok and not fact.optional]
    if not missing:
        return _made("netns", options), " (auto: this machine can make rootless network namespaces)"
    here = f"{missing[0].name}: {missing[0].detail}"
    from cluster.hosts.docker.engine import connect

    try:
        connect().check_enterable()
    except CapabilityError as error:
        raise CapabilityError(f"no backend can run here: {here}; {missing[0].help}; nor can {error}") from None
    return _made("docker", options), f" (auto: a Docker engine answers, and namespaces do not work: {here})"


def _made(name: str, options: Mapping[str, Any]) -> Any:
    kind = plugins.load("backends", name)
    for option in options:
        if option not in kind.options:
            others = [each for each in plugins.names("backends") if option in plugins.load("backends", each).options]
            belongs = f"; it belongs to --backend {' or '.join(others)}" if others else ""
            raise UsageError(f"--backend {name} has no --{option.replace('_', '-')}{belongs}")
    return kind(**options)


def is_simulated(name: str) -> bool:
    """Whether runs on the backend of this name have a time of their own (``cluster.host.RunsHere``); makes none.

    Raises:
        UsageError: no such backend.
    """
    return name != "auto" and hasattr(plugins.load("backends", name), "keeping_time")
