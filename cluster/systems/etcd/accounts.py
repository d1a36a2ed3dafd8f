"""Banks of etcd: a key for each account.

A transfer reads both accounts at one revision, and then writes both if none of them was written since. Until that
second request leaves, whatever happens changes nothing. A read of all accounts is a transaction of ranges.
"""

from chaos.core.op import Invocation
from chaos.models.transactions.bank import ACCOUNTS, Balances, F
from cluster.systems._shared.accounts import balance, balances_after
from cluster.systems.etcd.gateway import Gateway
from cluster.systems.etcd.transactions import held_at_once, put, run_transaction, unchanged_since


class Accounts:
    """What a client asks of banks.

    Args:
        prefix: what every key begins with.
        serializable: whether a member answers reads from its own copy.
    """

    def __init__(self, prefix: str, *, serializable: bool) -> None:
        self._prefix, self._serializable = prefix, serializable

    async def perform(self, gateway: Gateway, op: Invocation, deadline_ns: int) -> Balances | None:
        """Move money, or read all accounts.

        Raises:
            Definite: it was not done.
            Indefinite: nobody knows whether it was.
        """
        accounts = range(ACCOUNTS) if op.f is F.READ else (op.argument.source, op.argument.target)
        keys = {account: f"{self._prefix}/accounts/{op.key}/{account}".encode() for account in accounts}
        held = await held_at_once(gateway, keys, deadline_ns, serializable=self._serializable)
        numbers = {account: one for account, (one, _) in held.items()}
        if op.f is F.READ:
            return Balances([balance(numbers[account]) for account in accounts])
        puts = [put(keys[account], left) for account, left in balances_after(op.argument, numbers).items()]
        compare = [unchanged_since(keys[account], revision) for account, (_, revision) in held.items()]
        await run_transaction(gateway, {"compare": compare, "success": puts}, deadline_ns, write=True)
        return None
