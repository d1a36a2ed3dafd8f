"""What only some systems have: one that says nothing of it has none, and the built-in ones say what they have."""

import pytest

from chaos.core.errors import UsageError
from chaos.models.log.words import F
from chaos.options import bugs
from cluster.system import bugs_of, pinned_clients, settings_for, settings_help_of, takes_sends_once
from cluster.systems.minimq.system import MiniMQ
from cluster.systems.rocketmq.system import RocketMQ


class Bare:
    name = "bare"


def test_a_system_that_says_nothing_has_none_of_it():
    bare = Bare()
    assert (bugs_of(bare), settings_help_of(bare), settings_for(bare, frozenset(F))) == ({}, {}, {})
    assert pinned_clients(bare, {}, 3) == [False, False, False]
    assert takes_sends_once(bare, {}) is False
    with pytest.raises(UsageError, match="bare carries no bugs to switch on"):
        bugs.find(bare, "any")


def test_what_a_system_says_is_taken():
    minimq, rocketmq = MiniMQ(), RocketMQ()
    settings = minimq.resolve({"client.routing": "pinned"})
    assert bugs_of(minimq) == minimq.bugs != {}
    assert settings_help_of(minimq) == minimq.settings_help != {}
    assert settings_for(rocketmq, frozenset({F.SCHEDULE})) == rocketmq.settings_for(frozenset({F.SCHEDULE})) != {}
    assert pinned_clients(minimq, settings, 3) == [True, True, True]
    assert takes_sends_once(minimq, settings) is minimq.idempotent_sends(settings)
