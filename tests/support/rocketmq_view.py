"""A view of the RocketMQ topology with addresses, for the tests beside it."""

from functools import partial

import system_view

from cluster.systems.rocketmq.system import RocketMQ

SYSTEM = RocketMQ()
view_of = partial(system_view.view_of, SYSTEM)
