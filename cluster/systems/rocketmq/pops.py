"""Pop, ack and change of the invisible time: what a client asks of RocketMQ's brokers, and the receipts it keeps.

A broker writes a check point of every pop into its log, and whoever holds a message says what it is about by a
*receipt*: the check point's parts as text (``ExtraInfoUtil`` of 5.5.0). What nobody acknowledged the broker puts into
a retry topic of the group, from which the group's next pops are served as well; such a message carries its receipt
with it, and has another place there than in its queue. Pure but for ``Pops``.
"""

import time
from collections import OrderedDict
from collections.abc import Iterator
from typing import Final, NamedTuple

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.op import Invocation
from chaos.models.log import payload
from chaos.models.log.operations import Ack, Extend, Given, Placed, Pop
from chaos.models.log.words import F, Record, Value
from cluster.systems.rocketmq import config
from cluster.systems.rocketmq.connection import Link
from cluster.systems.rocketmq.consumers import REFUSED, Ask, master_of
from cluster.systems.rocketmq.names import Names
from cluster.systems.rocketmq.outcomes import describe_answer
from cluster.systems.rocketmq.protocol import Answer, Code, Message, ProtocolError, Request, decode_messages

POP_MESSAGES: Final = 32
"""The most that brokers give at once."""

RECEIPTS: Final = 65536
"""So many receipts a client keeps; the oldest are forgotten first."""

NS_PER_MS: Final = 1_000_000
_FROM_THE_BEGINNING: Final = 0
_IN_QUEUE: Final = "0"
_CHECK_POINT: Final = "POP_CK"
_PARTS: Final = 8


class Receipt(NamedTuple):
    """What a client must say to name a message that it holds."""

    topic: str
    queue: int
    offset: int
    text: str


def _offsets_of(text: str) -> dict[tuple[str, int], str]:
    """``"0 3 17;1 0 4,5"`` → (mark, queue) → what stands behind."""
    parts = [entry.split(" ") for entry in text.split(";") if entry]
    try:
        return {(mark, int(queue)): rest for mark, queue, rest in parts}
    except ValueError:
        raise ProtocolError("check points that do not parse") from None


def receipt_of(names: Names, text: str, key: int) -> Receipt:
    """The receipt in the notation that brokers and clients share.

    Raises:
        ProtocolError: it is not one.
    """
    parts = text.split(" ")
    if len(parts) != _PARTS:
        raise ProtocolError("receipt of another length")
    topic = names.topic if parts[4] == _IN_QUEUE else names.retry_topic(key)
    try:
        return Receipt(topic, int(parts[6]), int(parts[7]), text)
    except ValueError:
        raise ProtocolError("receipt that does not parse") from None


def _receipt(names: Names, message: Message, answer: Answer, key: int) -> Receipt:
    own = message.properties.get(_CHECK_POINT)
    if own is not None:
        return receipt_of(names, own, key)
    start = _offsets_of(answer.fields.get("startOffsetInfo", "")).get((_IN_QUEUE, message.queue))
    if start is None:
        raise ProtocolError("popped message without a check point")
    fields = (answer.fields[name] for name in ("popTime", "invisibleTime", "reviveQid"))
    parts = (start, *fields, _IN_QUEUE, config.GROUP, str(message.queue), str(message.offset))
    return receipt_of(names, " ".join(parts), key)


def parse_pop(
    names: Names, answer: Answer, key: int, run: int, records: list[Record]
) -> Iterator[tuple[Value, Receipt]]:
    """The values that a pop gave, each with its receipt; nothing if there was nothing to give.

    Every message is added to ``records`` first, also one that is damaged or has no receipt.

    Raises:
        Definite: the broker gave nothing away, and there may have been something.
        Indefinite: nobody knows.
        ProtocolError: the answer does not parse from here on.
    """
    if answer.code in REFUSED:
        raise Definite(describe_answer(answer.code, answer.remark))
    if answer.code == Code.SYSTEM_ERROR and "pop message is forbidden" in answer.remark:
        raise Definite(describe_answer(answer.code, answer.remark))
    if answer.code in (Code.POLLING_TIMEOUT, Code.POLLING_FULL, Code.PULL_NOT_FOUND):
        if answer.fields.get("popTime", "0") == "0":
            raise Definite(describe_answer(answer.code, answer.remark))
        if int(answer.fields.get("restNum", "0")) > 0:  # another pop has the queue locked
            raise Definite("nothing given, and something is there")
        return
    if answer.code != Code.SUCCESS:
        raise Indefinite(describe_answer(answer.code, answer.remark))
    for message in decode_messages(answer.body):
        value = payload.decode(message.body, key, run) if message.intact else None
        place = -1
        try:
            receipt = _receipt(names, message, answer, key)
            place = message.offset if receipt.topic == names.topic else -1
        finally:
            records.append(Record(place, value, message.reconsumed + 1))
        if value is not None:
            yield value, receipt


def extend_receipt(receipt: Receipt, answer: Answer) -> Receipt:
    """The receipt of a message that is kept longer: the broker wrote a check point for it alone.

    Raises:
        ProtocolError: the answer lacks a part.
    """
    mark, broker = receipt.text.split(" ")[4:6]
    try:
        fresh = [answer.fields[name] for name in ("popTime", "invisibleTime", "reviveQid")]
    except KeyError as error:
        raise ProtocolError(f"no {error} in the answer") from None
    parts = (str(receipt.offset), *fresh, mark, broker, str(receipt.queue), str(receipt.offset))
    return receipt._replace(text=" ".join(parts))


class Pops:
    """One client's pops, and the receipts of what it holds."""

    def __init__(self, names: Names, run: int, ask: Ask) -> None:
        self._names = names
        self._run = run
        self._ask = ask
        self._receipts: OrderedDict[tuple[int, Value], Receipt] = OrderedDict()

    async def perform(self, op: Invocation, link: Link, node: str, deadline_ns: int, received: Received) -> None:
        """Pop, acknowledge or keep longer."""
        if op.f is F.POP:
            await self._pop(op, link, node, deadline_ns, received)
        else:
            await self._say(op, link, deadline_ns)
            received.result = Placed(op.argument.offset)

    async def _pop(self, op: Invocation, link: Link, node: str, deadline_ns: int, received: Received) -> None:
        asked: Pop = op.argument
        given = received.result = Given()
        # A slave would give messages away as well, and could write no check point.
        await master_of(self._ask, node, deadline_ns)
        fields = {
            "consumerGroup": self._names.pop_group(op.key),
            "topic": self._names.topic,
            "queueId": op.key,
            "maxMsgNums": POP_MESSAGES,
            "invisibleTime": asked.invisible_ns // NS_PER_MS,
            "pollTime": 0,
            "bornTime": time.time_ns() // NS_PER_MS,
            "initMode": _FROM_THE_BEGINNING,
            "order": False,
        }
        answer = await link.request(Request.POP_MESSAGE, fields, deadline_ns)
        for value, receipt in parse_pop(self._names, answer, op.key, self._run, given.records):
            self._keep(op.key, value, receipt)

    def _keep(self, key: int, value: Value, receipt: Receipt) -> None:
        self._receipts[key, value] = receipt
        self._receipts.move_to_end((key, value))
        if len(self._receipts) > RECEIPTS:
            self._receipts.popitem(last=False)

    async def _say(self, op: Invocation, link: Link, deadline_ns: int) -> None:
        """An ack or a new invisible time; what was said of a message needs no receipt any more."""
        about: Ack | Extend = op.argument
        receipt = self._receipts.pop((op.key, about.value), None)
        if receipt is None:
            raise Definite("no receipt of such a message")
        fields: dict[str, object] = {
            "consumerGroup": self._names.pop_group(op.key),
            "topic": receipt.topic,
            "queueId": receipt.queue,
            "extraInfo": receipt.text,
            "offset": receipt.offset,
        }
        if isinstance(about, Extend):
            fields["invisibleTime"] = about.invisible_ns // NS_PER_MS
        code = Request.ACK_MESSAGE if op.f is F.ACK else Request.CHANGE_MESSAGE_INVISIBLETIME
        answer = await link.request(code, fields, deadline_ns)
        if answer.code != Code.SUCCESS:
            raise (Definite if answer.code in REFUSED else Indefinite)(describe_answer(answer.code, answer.remark))
        if op.f is F.EXTEND:
            self._keep(op.key, about.value, extend_receipt(receipt, answer))
