"""Settings of a RocketMQ that was there before the run: what was asked for is proven, the rest is learned.

Nothing was configured by the harness, so its own defaults hold only where the nodes say so. What the system promises
follows from what each node says; where nodes differ, any of them may be the one that acts, so the least is promised.
Pure.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

import msgspec

from chaos.basics.name_lists import join_names
from chaos.core.errors import DeployError
from chaos.storage.runinfo import NodeInfo, Promises
from cluster.system import ClusterView
from cluster.systems._shared.weakest_promise import weakest_promises
from cluster.systems.rocketmq import config, defaults, promises, settings_proof, topology
from cluster.systems.rocketmq import settings as keys
from cluster.systems.rocketmq.settings_proof import Shown

NO_PROGRESS: Final = "progress under faults on controllers"

_MUST_FIT: Final[tuple[str, ...]] = ("brokerName", "enableControllerMode", "enableDLegerCommitLog", "controllerType")
"""Wiring without which the harness would ask this cluster the wrong questions."""

_MUST_SHOW: Final[Mapping[str, tuple[str, ...]]] = {
    "broker": ("allAckInSyncStateSet", "minInSyncReplicas", "slaveReadEnable", "flushDiskType", "timerPrecisionMs"),
    "controller": ("enableElectUncleanMaster",),
}
"""What promises rest on, by component: a node that does not show it is none of this release."""

AllShown = Mapping[str, Mapping[str, Shown]]
"""Node → component → what it said."""


def _needed(view: ClusterView, asked: Collection[str]) -> set[str]:
    """The settings that must be in effect: those asked for, and what clients were made to count on."""
    return {*asked, *(["broker.slaveReadEnable"] if keys.slaves_are_read(view.settings) else [])}


def _wanted(node: NodeInfo, component: str, view: ClusterView, needed: Collection[str]) -> dict[str, str]:
    """What a node must show, by RocketMQ's keys."""
    wiring = config.wiring(node, "", view)
    fit = {key: wiring[key] for key in _MUST_FIT if key in wiring and key in keys.known_keys()[component]}
    own = keys.of_component({name: value for name, value in view.settings.items() if name in needed}, component)
    if component == "broker" and wiring.get("brokerRole"):
        own.pop("brokerRole", None)  # the master's
    return {**own, **fit}


def _found(shown: AllShown) -> Iterator[tuple[str, str, str, str]]:
    """Node, component, key and value of all that nodes show and that is a setting."""
    for node, of in shown.items():
        for component, one in of.items():
            for key, value in one.values.items():
                if key in keys.known_keys()[component]:
                    yield node, component, key, value


def values_of(shown: AllShown) -> dict[str, dict[str, list[str]]]:
    """Full name → value → the nodes that show it."""
    out: dict[str, dict[str, list[str]]] = {}
    for node, component, key, value in _found(shown):
        out.setdefault(f"{component}.{key}", {}).setdefault(value, []).append(node)
    return out


def common_settings(shown: AllShown, view: ClusterView) -> dict[str, str]:
    """The settings of the run as they are in effect, those that are alike on all nodes."""
    values = values_of(shown)
    return {name: next(iter(values[name])) for name in view.settings if len(values.get(name, ())) == 1}


def _one_of_each(shown: AllShown, view: ClusterView) -> Iterator[dict[str, str]]:
    """For each broker and each controller: all settings as these two show them."""
    harness = {name: value for name, value in view.settings.items() if name.startswith(("cluster.", "client."))}
    by_component: dict[str, dict[str, dict[str, str]]] = {}
    for node, component, key, value in _found(shown):
        by_component.setdefault(component, {}).setdefault(node, {})[f"{component}.{key}"] = value
    for broker in by_component.get("broker", {}).values():
        for controller in by_component.get("controller", {"": {}}).values():
            yield {**harness, **broker, **controller}


def _unmeasured(settings: Mapping[str, str], usual: Mapping[str, str]) -> list[str]:
    """The timers that are not those with which the margin of ``no-progress`` was measured."""
    return [f"{name}={settings[name]}" for name in defaults.TIMERS if settings.get(name) != usual.get(name)]


def promises_shown(shown: AllShown, view: ClusterView) -> Promises:
    """What may be promised of the cluster as its nodes show it."""
    every = list(_one_of_each(shown, view))
    usual = defaults.of(topology.of(view.settings))
    other = sorted({timer for settings in every for timer in _unmeasured(settings, usual)})
    made = weakest_promises(promises.of(settings) for settings in every)
    if not other or not made.progress_margin_s:
        return made
    more = f" and {len(other) - 1} more" if len(other) > 1 else ""
    why = f"its margin was measured with other timers than {other[0]}{more}"
    return msgspec.structs.replace(made, progress_margin_s=0.0, not_taken=(f"{NO_PROGRESS} ({why})",))


def effects_note(shown: AllShown, view: ClusterView, asked: Collection[str]) -> tuple[str, dict[str, object], Promises]:
    """The text and the data of the note, and the promises.

    Raises:
        DeployError: a setting that was asked for is not in effect; names node, key, wanted and found.
    """
    needed = _needed(view, asked)
    wrong, proven = list[str](), 0
    for node in view.nodes:
        for component, one in shown.get(node.name, {}).items():
            want = _wanted(node, component, view, needed)
            wrong += settings_proof.differences(node.name, want, one.values)
            unknown = [key for key in _MUST_SHOW.get(component, ()) if key not in one.values]
            wrong += [f"{node.name}: {key} is not known to it, as it is to every RocketMQ 5.5.0" for key in unknown]
            proven += len(want)
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise DeployError(
            f"settings are not in effect: {wrong[0]}{more}; with --reuse the harness configures nothing: set it on the "
            "cluster, or run with what is set there (--set)"
        )
    found, made = common_settings(shown, view), promises_shown(shown, view)
    other = sorted(
        name for name, value in found.items() if not settings_proof.is_same_value(view.settings[name], value)
    )
    apart = sorted(name for name, values in values_of(shown).items() if name in view.settings and len(values) > 1)
    unasked = sorted(name for name in asked if name.startswith("jvm."))
    text = f"{proven} settings proven to be in effect on {len(shown)} nodes; promises are made by what the nodes say"
    text += f"; {len(other)} differ from what the harness would set" if other else ""
    text += f"; not alike on all nodes: {', '.join(apart)}" if apart else ""
    text += f"; cannot be asked for: {', '.join(unasked)}" if unasked else ""
    text += f"; the system is not held to {join_names(made.not_taken)}" if made.not_taken else ""
    said, data = settings_proof.consequences(shown, msgspec.structs.replace(view, settings={**view.settings, **found}))
    data |= {"other": {name: found[name] for name in other}}
    data["warning"] = bool(data["warning"] or apart or unasked or made.not_taken)
    return text + said, data, made
