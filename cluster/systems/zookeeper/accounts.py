"""Banks of ZooKeeper: a node for each account.

Nodes are read one by one. A multi then checks the version of each, and writes both accounts of a transfer, so where it
is done all of them were there at that moment (``transactions``). Until it leaves, whatever happens changes nothing.
With ``client.sync=false`` a read of all accounts is not checked: it takes what the server's own copy holds, and nodes
that were read at different moments need not add up.
"""

from typing import Final

from chaos.core.op import Invocation
from chaos.models.transactions.bank import ACCOUNTS, Balances, F
from cluster.systems._shared.accounts import balance, balances_after
from cluster.systems.zookeeper import jute
from cluster.systems.zookeeper.servers import Server
from cluster.systems.zookeeper.transactions import all_or_nothing, held_by, step

KIND: Final = "accounts"
"""Below which the nodes of accounts are."""


class Accounts:
    """What a client asks of banks.

    Args:
        root: below which everything is.
        sync: the setting ``client.sync``.
    """

    def __init__(self, root: str, sync: str) -> None:
        self._root, self._sync = root, sync

    async def perform(self, server: Server, op: Invocation, deadline_ns: int) -> Balances | None:
        """Move money, or read all accounts.

        Raises:
            Definite: it was not done.
            Indefinite: nobody knows whether it was.
        """
        accounts = range(ACCOUNTS) if op.f is F.READ else (op.argument.source, op.argument.target)
        paths = {account: f"{self._root}/{KIND}/{op.key}/{account}" for account in accounts}
        held = await held_by(server, paths, deadline_ns, sync=self._sync == "true")
        numbers = {account: one for account, (_, one) in held.items()}
        after = {} if op.f is F.READ else balances_after(op.argument, numbers)
        if after or self._sync != "false":
            requests: list[jute.Request] = []
            for account, (node, _) in held.items():
                data = str(after[account]).encode() if account in after else None
                requests += step(paths[account], node, data, checked=True)
            await all_or_nothing(server, requests, deadline_ns)
        return Balances([balance(numbers[account]) for account in accounts]) if op.f is F.READ else None
