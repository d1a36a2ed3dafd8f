"""Parameters of faults as plans of older versions have them: numbers where there are words now. Pure.

Closed: whoever writes a plan now writes words. Reads plans alone; nobody can type what stands here.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, get_args

from chaos.core.errors import UsageError
from nemesis.faults.params import JOIN
from nemesis.faults.syscalls.calls import Call
from nemesis.faults.syscalls.errnos import Errno, number_of

Params = Mapping[str, Any]


def in_words(fault: str, params: Params) -> dict[str, Any]:
    """The parameters of a planned fault with words, whichever version planned it.

    Raises:
        UsageError: they ask for what cannot be asked for any more.
    """
    return dict(_OLDER[fault](params)) if fault in _OLDER else dict(params)


def _syscall(params: Params) -> Params:
    """One parameter for each call, which had its own rhythm; ``probability`` is ``share`` now."""
    rest = {name: value for name, value in params.items() if name not in get_args(Call)}
    named = {call: params[call] for call in get_args(Call) if params.get(call)}
    if named:
        rest |= {"call": JOIN.join(named), "every": _same(named)}
    if "probability" in rest:
        rest["share"] = rest.pop("probability")
    number = rest.get("errno")
    if not isinstance(number, str):
        name = next((one for one in get_args(Errno) if number_of(one) == number), number)
        rest |= {"errno": name} if number is not None else {}
    return rest


def _disk_error(params: Params) -> Params:
    """A share for each operation; nothing was said of one with its default."""
    usual = {"read": 0.0, "write": 0.0, "fsync": 1.0}
    if not params.keys() & usual.keys():
        return params
    failing = {op: share for op in usual if (share := params.get(op, usual[op])) > 0}
    return {"op": JOIN.join(failing), "share": _same(failing)} if failing else {"share": 0.0}


def _same(named: Params) -> Any:
    """The number that is said of each of these."""
    if len(set(named.values())) > 1:
        said = ", ".join(f"{name}={value:g}" for name, value in named.items())
        raise UsageError(f"{said}: one fault does the same to all that it names now; have this row name one of them")
    return next(iter(named.values()))


def _word(name: str, words: Sequence[Any], now: str) -> Callable[[Params], Params]:
    """For a parameter that numbered these words."""

    def change(params: Params) -> Params:
        number = params.get(name)
        if not isinstance(number, int) or not 0 <= number < len(words):
            return params
        return {**{other: value for other, value in params.items() if other != name}, now: words[number]}

    return change


_CRASH: Final = _word("lose", ("kept", "lost"), "unsynced")
_OLDER: Final[Mapping[str, Callable[[Params], Params]]] = MappingProxyType(
    {
        "blackhole": _word("kind", ("blackhole", "unreachable", "prohibit"), "kind"),
        "block-port": _word("port", ("all",), "port"),
        "corrupt": _word("mend", ("wrong", "right"), "checksum"),
        "crash-at-fsync": _CRASH,
        "crash-at-rename": _CRASH,
        "disk-error": _disk_error,
        "staged-heal": _word("by_node", ("link", "node"), "by"),
        "syscall-delay": _syscall,
        "syscall-error": _syscall,
    }
)
