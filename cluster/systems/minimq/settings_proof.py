"""Settings proven to be in effect: what each node says that it goes by, against what it should, and what follows.

Pure. A minimq node acts by the values that it tells, since they are those that its core was made with.
"""

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from chaos.basics.name_lists import join_names
from chaos.core.errors import DeployError
from chaos.storage.runinfo import Promises
from cluster.systems._shared.weakest_promise import weakest_promises
from cluster.systems.minimq import promises
from cluster.systems.minimq import settings as keys

NO_MINIMUM: Final = "a minimum of replicas in sync"
NO_RECOVERY: Final = "recovery in time"
NO_PROGRESS: Final = "progress under faults on controllers"

_MINIMUM: Final = "broker.minInSyncReplicas"
_MEASURED_WITH: Final = ("broker.requestTimeout", "controller.brokerTimeout", "controller.electionTimeout")
"""The margin of ``no-progress`` was measured with the defaults of these."""

Shown = Mapping[str, Mapping[str, str] | str]
"""Node → its settings by full name, or why it does not say them."""


def differences(shown: Shown, wanted: Mapping[str, str]) -> list[str]:
    """One line for each wanted setting that is not in effect on a node that has it."""
    return [
        f"{node}: {name} was set to {wanted[name] or 'none'} and is {found or 'none'}"
        for node, said in shown.items()
        if not isinstance(said, str)
        for name, found in said.items()
        if name in wanted and found != wanted[name]
    ]


def common_settings(shown: Shown) -> dict[str, str]:
    """The settings that have one value on all nodes that told any."""
    values: dict[str, set[str]] = {}
    for said in shown.values():
        for name, value in {} if isinstance(said, str) else said.items():
            values.setdefault(name, set()).add(value)
    return {name: next(iter(found)) for name, found in values.items() if len(found) == 1}


def promises_shown(shown: Shown, settings: Mapping[str, str]) -> Promises:
    """What may be promised of a cluster that was there already: by the node that promises least.

    ``settings``: the run's, for what is the clients' own.
    """
    told = [said for said in shown.values() if not isinstance(said, str)]
    silent = [f"{node} does not say its settings" for node, said in shown.items() if isinstance(said, str)]
    if silent:
        of_settings = (NO_MINIMUM, NO_RECOVERY, NO_PROGRESS)
        return Promises(replicas_read=True, not_taken=tuple(f"{what} ({silent[0]})" for what in of_settings))
    made = weakest_promises(
        promises.of({**settings, **one, **other})
        for one in told
        if _MINIMUM in one
        for other in told
        if _MINIMUM not in other
    )
    usual = keys.in_words_of_effect(keys.resolve({}))
    timers = {(name, said[name]) for said in told for name in _MEASURED_WITH if name in said}
    others = sorted(f"{name}={value}" for name, value in timers if value != usual[name])
    if not others:
        return made
    why = f"its margin was measured with other timers than {', '.join(others)}"
    return msgspec.structs.replace(made, progress_margin_s=0.0, not_taken=(f"{NO_PROGRESS} ({why})",))


def effects_note(
    shown: Shown, settings: Mapping[str, str], asked: Collection[str] | None
) -> tuple[str, Promises | None]:
    """The text of the note, and the promises on a cluster that was there already.

    Args:
        shown: what nodes said.
        settings: those of the run, resolved.
        asked: as for ``Probe.confirm``.

    Raises:
        DeployError: a setting is not in effect, or a node of the run's own does not say.
    """
    silent = {node: said for node, said in shown.items() if isinstance(said, str)}
    if asked is None and silent:
        node, why = next(iter(silent.items()))
        raise DeployError(f"{node} does not say its settings in effect: {why}")
    wanted = {
        name: value for name, value in keys.in_words_of_effect(settings).items() if asked is None or name in asked
    }
    wrong = differences(shown, wanted)
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise DeployError(f"settings are not in effect: {wrong[0]}{more}")
    told = {node: said for node, said in shown.items() if not isinstance(said, str)}
    proven = sum(len(said.keys() & wanted.keys()) for said in told.values())
    text = f"{proven} settings proven to be in effect on {len(told)} nodes"
    if asked is None:
        return text, None
    made = promises_shown(shown, settings)
    one = common_settings(shown)
    apart = sorted({name for said in told.values() for name in said} - one.keys())
    text += "; promises are made by what the nodes say"
    text += f"; not alike on all nodes: {', '.join(apart)}" if apart else ""
    text += "".join(f"; {node} cannot be asked: {why}" for node, why in silent.items())
    text += f"; the system is not held to {join_names(made.not_taken)}" if made.not_taken else ""
    return text, made
