"""What `chaos list` says of a plugin: a line for people, from the plugin itself."""

import pytest

from chaos import plugins
from chaos.testing.fake_backend import FakeBackend
from chaos.testing.fake_system import FakeSystem


@pytest.mark.parametrize("group", ["systems", "backends", "workloads", "models"])
def test_every_plugin_of_this_distribution_says_in_one_line_what_it_is(group):
    for row in plugins.list_group(group):
        said = plugins.load(group, row.name).help
        assert row.help == said
        assert "\n" not in said
        assert "`" not in said, f"{row.name}: {said!r} is for those who read the code"


def test_fakes_say_it_too():
    assert FakeSystem.help == "a system in memory, for tests"
    assert FakeBackend.help == "hosts on the loopback of this machine, for tests"
