"""What the body of a message in a queue says."""

import pytest

from chaos.models.queues.total_queue import STRANGE
from cluster.systems._shared.message_values import value_in


@pytest.mark.parametrize(("body", "value"), [(b"41", 41), (b"", STRANGE), (b"-1", STRANGE), (b"9" * 19, STRANGE)])
def test_what_is_none_of_ours_is_a_value_that_nobody_sent(body, value):
    assert value_in(body) == value
