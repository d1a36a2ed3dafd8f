"""Apache RocketMQ 5.5.0 in controller mode: one name server, three controllers, one replica group.

Decisions (settings, configuration, outcomes, frames) are pure modules; ``artefacts``, ``connection``,
``client`` and ``probe`` are the thin shells that act. Nothing here starts or stops a process.
"""
