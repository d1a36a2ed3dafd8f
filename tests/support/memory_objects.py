"""A system of this process: registers, sets and counters in memory, and clients that may not hear of what they did.

``with_memory`` lets the harness find it by the name ``memory``, as any plugin is found.
"""

import asyncio
from importlib.metadata import EntryPoint, entry_points

from chaos import plugins
from chaos.core.client import Definite, Indefinite
from chaos.core.runinfo import Promises
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from chaos.models.objects.answers import Found

MODELS = {"register": register, "set": sets, "counter": counter}


def with_memory(monkeypatch):
    """Make the system ``memory`` known."""
    own = EntryPoint(name="memory", value="memory_objects:Memory", group="chaos.systems")

    def found(*, group):
        return [*entry_points(group=group), *([own] if group == own.group else [])]

    monkeypatch.setattr(plugins, "entry_points", found)


class Objects:
    """What there is, by key. ``doubtful``: every so many changes nobody hears of; half of those take effect."""

    def __init__(self, doubtful=0):
        self.held, self.doubtful, self.changes = {}, doubtful, 0

    def change(self, key, value):
        self.changes += 1
        unheard = self.doubtful and self.changes % self.doubtful == 0
        if not unheard or self.changes % (2 * self.doubtful) == 0:
            self.held[key] = value
        if unheard:
            raise Indefinite("connection reset")


class MemoryClient:
    """A client of the objects; it answers a moment later, so that operations overlap."""

    pinned_to = None

    def __init__(self, objects, model):
        self.objects, self.model = objects, model

    async def invoke(self, op, received):
        received.node = "m1"
        await asyncio.sleep(0)
        result = getattr(self, f"_{self.model}")(op, self.objects.held.get(op.key))
        await asyncio.sleep(0)
        received.result = result

    def _register(self, op, held):
        if op.f is register.F.READ:
            return Found(held)
        if op.f is register.F.CAS and held != op.argument.expected:
            raise Definite("another value is there")
        return self.objects.change(op.key, op.argument.value)

    def _set(self, op, held):
        if op.f is sets.F.READ:
            return sets.Elements(sorted(held or ()))
        return self.objects.change(op.key, {*(held or ()), op.argument.element})

    def _counter(self, op, held):
        if op.f is counter.F.READ:
            return Found(held)
        return self.objects.change(op.key, (held or 0) + op.argument.amount)

    async def refresh(self): ...

    async def close(self): ...


class Memory:
    """Objects in memory."""

    roles = {"store": "replica"}  # noqa: RUF012 - as plugins have it
    objects = Objects()

    def pinned(self, settings, clients):
        return [False] * clients

    def operations(self, model, settings):
        return frozenset(MODELS[model].F) if model in MODELS else frozenset()

    def promises(self, settings):
        return Promises()

    def client(self, view, number, clients, seed):
        return MemoryClient(self.objects, view.settings["model"])
