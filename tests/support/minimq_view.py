"""A view of the minimq topology with addresses, for the tests beside it."""

from functools import partial

import system_view

from cluster.systems.minimq.system import MiniMQ

SYSTEM = MiniMQ()
view_of = partial(system_view.view_of, SYSTEM)
