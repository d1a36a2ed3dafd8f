"""The checker of Kafka-style histories: the anomalies of ``jepsen.tests.kafka``, and those it misses.

``check.check`` is the door. A log (one topic-partition) is a shard: ``kernel`` looks at it, sums travel, ``check``
concludes; cycles between transactions are looked for over all logs together (``graph``, ``cycles``).
"""
