"""One operation of etcd's client against a member on the loopback."""

import asyncio
import base64

from etcd_member import Member, variables
from system_view import view_of

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Invocation
from cluster.systems.etcd.client import EtcdClient
from cluster.systems.etcd.members import Members
from cluster.systems.etcd.system import Etcd


def coded(text):
    """A text as etcd's gateway writes bytes."""
    return base64.b64encode(text.encode()).decode()


def run(f, argument, answers, **settings):
    """What one operation was given or raised, and the requests behind the question for the leader."""

    async def scenario():
        async with Member(debug__vars=variables(1, 1)) as member:
            member.answers.update(answers)
            client = EtcdClient(view_of(Etcd(), **settings), -1, 8, seed=1)
            client._links = dict.fromkeys(("n1", "n2", "n3"), member.gateway)
            client._route._source = Members({"n1": member.gateway})
            received = Received()
            deadline_ns = now_ns() + 5 * NS_PER_S
            op = Invocation(process=17, client=0, f=f, key=3, deadline_ns=deadline_ns, argument=argument)
            try:
                await client.invoke(op, received)
                out = received.result
            except (Definite, Indefinite) as error:
                out = (type(error), str(error))
            await client.close()
            return out, [(path, body) for path, body in member.asked if path.startswith("v3")]

    return asyncio.run(scenario())
