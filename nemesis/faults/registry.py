"""Every fault by kind: the catalog's column *how*, as classes."""

from typing import Final

from nemesis.faults.disconnect import Disconnect
from nemesis.faults.fault import registered
from nemesis.faults.kill import Kill, Restart, Stop
from nemesis.faults.loss import Loss
from nemesis.faults.partition import Partition, PartitionIn, PartitionOut
from nemesis.faults.pause import Pause

FAULTS: Final = registered(Kill, Stop, Restart, Pause, Partition, PartitionIn, PartitionOut, Loss, Disconnect)
