"""An axis of every system: what each says that it is tried with."""

import pytest

from chaos import plugins
from chaos.core.errors import UsageError
from chaos.core.strict_yaml import parse
from chaos.matrix.read import matrix_of, read_matrix
from cluster.systems.minimq.system import MiniMQ
from cluster.trial import Trial, trials_of


def test_a_new_system_is_in_both_series_without_a_line_in_them():
    class Tried(MiniMQ):
        name = "tried"
        trials = (
            Trial(name="most", workload="queue", settings={"minInSyncReplicas": "2"}, main=True),
            Trial(name="more", workload="group"),
        )

    with plugins.offered("systems", "tried", Tried):
        every, most = read_matrix("systems").axes[0].values, read_matrix("every-system").axes[0].values
    assert [value.name for value in every if value.name.startswith("tried")] == ["tried-most", "tried-more"]
    (own,) = [value for value in most if value.name.startswith("tried")]
    assert own.config.values == {"system": "tried", "workload": "queue"}
    assert own.config.settings == {"minInSyncReplicas": "2"}
    assert own.config.origins["settings.minInSyncReplicas"].startswith("every-system.yaml:")


def test_of_a_system_that_says_nothing_its_own_workload_is_tried():
    (own,) = trials_of(plugins.load("systems", "dledger")())
    assert (own.name, own.workload, own.main) == ("queue", "queue", True)


def test_every_system_is_used_for_something_most_and_tells_its_trials_apart():
    for name in plugins.names("systems"):
        trials = trials_of(plugins.load("systems", name)())
        assert any(one.main for one in trials), name
        assert len({one.name for one in trials}) == len(trials), name


@pytest.mark.parametrize(
    ("axis", "said"),
    [
        ("{systems: most}", "systems must be main or all, not"),
        ("{system: all}", "did you mean systems"),
        ("{}", "must be a list of values, or"),
    ],
)
def test_an_axis_of_all_systems_says_with_what(axis, said):
    with pytest.raises(UsageError, match=said):
        matrix_of(parse(f"axes: {{target: {axis}}}", "some.yaml"))
