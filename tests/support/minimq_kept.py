"""What a broker of minimq has after a prefix of its writes, without the files that hold it."""

from cluster.systems.minimq.protocol.io import Truncate


def records_left(stored):
    """The records left by a prefix of the durable writes and truncations, in the order of their tokens."""
    records = []
    for item in stored:
        if isinstance(item, Truncate):
            del records[item.start :]
        else:
            records.append(item)
    return records
