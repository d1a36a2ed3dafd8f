"""Transactions: half messages, the producer's word about them, and answers to brokers that ask for it.

A broker keeps a half message until its producer ends the transaction. If it hears nothing it asks, on a
connection whose owner has said by heartbeat to be a producer of the message's group. What is decided
travels in the message itself, so any producer of the run answers for any other, and alike, as long as one of
them lives. The broker answers the end of a transaction with SUCCESS where the message is not replicated as
well; if it is lost with its master, the half message is asked about again.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import ns_from_now
from chaos.core.op import Invocation
from chaos.models.log import payload
from chaos.models.log.operations import Transact
from chaos.models.log.transaction import AT_ONCE, COMMITTING, WHEN_ASKED, Decision
from cluster.systems.rocketmq.connection import Link
from cluster.systems.rocketmq.names import Names
from cluster.systems.rocketmq.outcomes import describe_answer, of_send, require_ok
from cluster.systems.rocketmq.protocol import Answer, Code, ProtocolError, Request, decode_messages
from cluster.systems.rocketmq.sending import request_fields
from cluster.systems.rocketmq.topology import Mode

HEARTBEAT_S: Final = 2.0
ANSWER_WITHIN_S: Final = 2.0
MOST_ANSWERS: Final = 1024
"""Answers under way; a question beyond them is left out, and comes again."""

_HALF: Final = 4  # the system flag of a half message (TRANSACTION_PREPARED_TYPE)
_COMMIT: Final = 8
_ROLLBACK: Final = 12
_DECISION: Final = "decision"  # a property of ours
_OFFSET_DIGITS: Final = 16  # a message id ends with the position in the commit log


class _Produced(msgspec.Struct):
    groupName: str  # noqa: N815 - the protocol's spelling


class _Heartbeat(msgspec.Struct):
    clientID: str  # noqa: N815
    producerDataSet: tuple[_Produced, ...]  # noqa: N815
    consumerDataSet: tuple[()] = ()  # noqa: N815


class Producer:
    """One client's transactions: ``links`` lead to every broker by name."""

    def __init__(self, links: Mapping[str, Link], names: Names, run: int, number: int, mode: Mode) -> None:
        self._links = links
        self._names = names
        self._run = run
        self._mode = mode
        self._beat = msgspec.json.encode(
            _Heartbeat(clientID=names.producer(number), producerDataSet=(_Produced(names.transactions),))
        )
        self._beating: asyncio.Task[None] | None = None
        self._answering: set[asyncio.Task[None]] = set()

    async def transact(self, op: Invocation, node: str, deadline_ns: int) -> None:
        """Send the half message and, if the producer decides at once, say so.

        Returns if the half message was acknowledged and so was what was said of it, if anything.
        """
        transact: Transact = op.argument
        if self._beating is None:
            self._beating = asyncio.get_running_loop().create_task(self._beat_on())
        decision = transact.decision
        key = f"{self._run:x}-{op.key}-{transact.value}"
        named = {"TRAN_MSG": "true", "PGROUP": self._names.transactions, "UNIQ_KEY": key, _DECISION: str(int(decision))}
        body = payload.encode(transact.value, op.key, self._run, transact.body_bytes)
        link = self._links[node]
        answer = await link.request(
            Request.SEND_MESSAGE_V2,
            request_fields(op, self._names.topic, self._names.transactions, named, _HALF),
            deadline_ns,
            body,
        )
        require_ok(of_send(answer.code, answer.remark, self._mode))
        if decision not in AT_ONCE:
            return
        try:
            half = {
                "tranStateTableOffset": int(answer.fields["queueOffset"]),
                "commitLogOffset": int(answer.fields["msgId"][-_OFFSET_DIGITS:], 16),
                "msgId": key,
                "transactionId": answer.fields.get("transactionId", key),
            }
        except (KeyError, ValueError):
            raise ProtocolError("half message acknowledged without its place") from None
        await self._end(half, decision, node, deadline_ns)

    async def _end(self, half: Mapping[str, object], decision: Decision, node: str, deadline_ns: int) -> None:
        """Say what was decided. Once the half message is there, only ok is certain: the broker may ask again."""
        try:
            answer = await self._links[node].request(
                Request.END_TRANSACTION, self._word(half, decision, asked=False), deadline_ns
            )
        except Definite as error:
            raise Indefinite(f"half message stored, then {error}") from None
        if answer.code != Code.SUCCESS:
            raise Indefinite(f"half message stored, then {describe_answer(answer.code, '')}")

    def answer_question(self, node: str, question: Answer) -> None:
        """Hear what a broker asks of its own; only questions about transactions are answered."""
        if question.code != Request.CHECK_TRANSACTION_STATE or len(self._answering) >= MOST_ANSWERS:
            return
        task = asyncio.get_running_loop().create_task(self._tell(node, question))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _tell(self, node: str, question: Answer) -> None:
        decision = decision_in(question)
        if decision is None:
            return
        fields = question.fields
        half = {
            name: fields[name]
            for name in ("tranStateTableOffset", "commitLogOffset", "msgId", "transactionId")
            if name in fields
        }
        deadline_ns = ns_from_now(ANSWER_WITHIN_S)
        # Whatever becomes of it: the broker asks again until it has heard.
        with suppress(Definite, Indefinite):
            word = self._word(half, decision, asked=True)
            await self._links[node].request(Request.END_TRANSACTION, word, deadline_ns)

    def _word(self, half: Mapping[str, object], decision: Decision, *, asked: bool) -> dict[str, object]:
        """The header of END_TRANSACTION."""
        word = _COMMIT if decision in COMMITTING else _ROLLBACK
        group = self._names.transactions
        return {**half, "producerGroup": group, "commitOrRollback": word, "fromTransactionCheck": asked}

    async def _beat_on(self) -> None:
        """Tell every broker, again and again, that here is a producer: any of them may become master."""
        while True:
            await asyncio.gather(*map(self._beat_once, self._links.values()))
            await asyncio.sleep(HEARTBEAT_S)

    async def _beat_once(self, link: Link) -> None:
        with suppress(Definite, Indefinite):
            await link.request(Request.HEART_BEAT, {}, ns_from_now(HEARTBEAT_S), self._beat)

    async def stop(self) -> None:
        """Answer nothing any more; safe to call twice."""
        tasks = [*self._answering, *([self._beating] if self._beating is not None else [])]
        self._beating = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def decision_in(question: Answer) -> Decision | None:
    """What the producer of the half message in a question says when it is asked; None: nothing."""
    try:
        (message,) = decode_messages(question.body)
        decision = Decision(int(message.properties[_DECISION]))
    except (ProtocolError, KeyError, ValueError):
        return None
    return decision if decision in (*AT_ONCE, *WHEN_ASKED) else None
