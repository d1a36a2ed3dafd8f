"""Nodes that are started again otherwise than the run began: with another setting, or as another version. Pure.

A system whose nodes may differ in a setting for a while names such settings (``ChangesSettings`` in ``cluster.admin``);
one that ``HasVersions`` can have nodes of another patch release, from which they can go back. What is fetched for that
is fetched before the run.
"""

import difflib
from collections.abc import Collection, Mapping
from typing import NamedTuple

import msgspec

from chaos.core.errors import UsageError
from cluster.admin import changeable_settings
from cluster.cluster import Node, Relaunch
from cluster.system import ClusterView, Launch, System
from cluster.versions import HasVersions, choose_version, release_of, variant_of


class Program(NamedTuple):
    """What a node runs: a system in a version, and its resolved settings."""

    system: System
    settings: dict[str, str]


def program_of(system: System, settings: Mapping[str, str], relaunch: Relaunch) -> Program:
    """What a node runs that is started again so in a run with these resolved settings.

    Raises:
        UsageError: the system has no such version, or the settings cannot be so.
    """
    other = choose_version(system, relaunch.version or None, None)
    asked = {**settings, relaunch.setting: relaunch.value} if relaunch.setting else dict(settings)
    resolved = other.resolve(asked)
    return Program(variant_of(other, resolved), resolved)


def launch_of(system: System, view: ClusterView, node: Node, relaunch: Relaunch, artefacts: str) -> Launch:
    """How a node is started again; ``artefacts``: where its program is on its host."""
    program = program_of(system, view.settings, relaunch)
    other = msgspec.structs.replace(view, settings=program.settings)
    return program.system.launch(node.info, node.host.home, artefacts, other)


def check_relaunch(system: System, settings: Mapping[str, str], relaunch: Relaunch, roles: Collection[str]) -> None:
    """See that nodes of these roles can be started again so while the others go on as they are.

    Raises:
        UsageError: they cannot; the message says what can be.
    """
    if relaunch.setting:
        _check_setting(system, settings, relaunch, roles)
    if relaunch.version:
        _check_version(system, relaunch.version)
    program_of(system, settings, relaunch)


def _check_setting(system: System, settings: Mapping[str, str], relaunch: Relaunch, roles: Collection[str]) -> None:
    for role in roles:
        known = changeable_settings(system, role)
        if relaunch.setting not in known:
            there = f"a {role} can be started again with another {', '.join(known)}" if known else f"no {role} can be"
            raise UsageError(f"setting {relaunch.setting}: {there}{_guess(relaunch.setting, known)}")
    if settings[relaunch.setting] == relaunch.value:
        raise UsageError(f"to {relaunch.value}: {relaunch.setting} is that already; give another value")


def _guess(word: str, known: Collection[str]) -> str:
    """A clause with the setting that was meant; also of one that is not named in full."""
    full = {text: name for name in known for text in (name.rpartition(".")[2], name)}
    near = difflib.get_close_matches(word, full, n=1)
    return f"; did you mean {full[near[0]]}?" if near else ""


def _check_version(system: System, version: str) -> None:
    if version == system.version:
        raise UsageError(f"to {version}: the run is of that version already; give another")
    if not isinstance(system, HasVersions):
        raise UsageError(f"to {version}: {system.name} can be had in {system.version} only")
    if release_of(version) != release_of(system.version):
        raise UsageError(f"to {version}: nodes can go back from a patch release only; give one beside {system.version}")
