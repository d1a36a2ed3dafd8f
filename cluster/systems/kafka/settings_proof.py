"""Settings proven to be in effect: what each broker shows, of itself and of the run's topic, against what was set.

A broker shows lines that it does not know as well, but hides their values: so they are not proven. Pure.
"""

from collections.abc import Mapping
from typing import Final

from cluster.system import ClusterView
from cluster.systems.kafka import settings as settings_of
from cluster.systems.kafka.settings import PREFIX

OF_TOPIC: Final = 2
OF_BROKER: Final = 4
"""Kinds of things that have settings."""
_TOPIC: Final = "topic."

Shown = Mapping[str, Mapping[str, str | None]]
"""Broker → setting by its full name → what it shows, None where it hides the value."""


def required_lines(view: ClusterView) -> dict[str, str]:
    """The lines of server.properties that every broker must show."""
    return settings_of.lines(view.settings)


def by_setting(broker: Mapping[str, str | None], topic: Mapping[str, str | None]) -> dict[str, str | None]:
    """What a broker shows, by the full names of settings; what it shows of the topic as ``topic.KEY``."""
    own = {PREFIX + key: value for key, value in broker.items()}
    return {**own, **{_TOPIC + key: value for key, value in topic.items()}}


def wanted_settings(view: ClusterView, shown: Shown) -> dict[str, str]:
    """What brokers must show, by full name; of the topic only where they were asked for it."""
    own = {PREFIX + key: value for key, value in required_lines(view).items()}
    asked = {name for one in shown.values() for name in one}
    topic = {_TOPIC + key: value for key, value in settings_of.of_topic(view.settings).items()}
    return {**own, **{name: value for name, value in topic.items() if name in asked}}


def differences(shown: Shown, want: Mapping[str, str]) -> list[str]:
    """One line for each setting of each broker that is not in effect as it was set."""
    return [
        f"{name}: {key} was set to {value} and is {found.get(key) or 'not known to it'}"
        for name, found in shown.items()
        for key, value in sorted(want.items())
        if not _same(value, found.get(key))
    ]


def common_settings(shown: Shown) -> dict[str, str]:
    """The settings that all brokers show, with the same value."""
    common = set.intersection(*({(k, v) for k, v in one.items() if v is not None} for one in shown.values()))
    return {name: value for name, value in common if value is not None and name.startswith(PREFIX)}


def _same(value: str, found: str | None) -> bool:
    """Whether two values mean the same."""
    if found is None or value.lower() == found.lower():
        return found is not None
    try:
        return float(value) == float(found)
    except ValueError:
        return False
