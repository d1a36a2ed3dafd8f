"""Transfers that a client reads first and then writes: what one makes of what two accounts have held."""

from collections.abc import Mapping
from typing import Final

from chaos.core.client import Definite
from chaos.models.transactions.bank import OPENING, Transfer

TOO_LITTLE: Final = "the account holds too little"


def balance(numbers: tuple[int, ...]) -> int:
    """What an account holds, of which ``numbers`` was read: nothing is there before anybody moved money. Pure."""
    return numbers[0] if numbers else OPENING


def balances_after(asked: Transfer, held: Mapping[int, tuple[int, ...]]) -> dict[int, int]:
    """Both accounts as they are after a transfer. Pure.

    Args:
        asked: the transfer.
        held: what was read of both.

    Raises:
        Definite: there is too little.
    """
    source, target = (balance(held[account]) for account in (asked.source, asked.target))
    if source < asked.amount:
        raise Definite(TOO_LITTLE)
    return {asked.source: source - asked.amount, asked.target: target + asked.amount}
