"""Paired operations as JSON, one a line, so that any language can write a history.

``{"f": "append", "value": 2, "type": "ok", "invoke": 14, "complete": 17, "offset": 2, "process": 0, "key": "k"}``:
``f``, ``type`` (ok, fail, info) and ``invoke`` must be there. ``invoke`` and ``complete`` are integers of one clock or
one order; ``complete`` may be missing or null where nobody knows the end. ``value`` is what was asked for and what came
back; a line that tells them apart has ``output`` as well. Anything else is in ``Operation.extra``.

Does not pair: a line is an operation.
"""

from typing import Any, Final

import msgspec

from chaos.core.op import Type
from chaos.formats.format import Format
from chaos.formats.jepsen import freeze
from chaos.formats.lines import Lines
from chaos.formats.missing import Missing
from chaos.formats.operations import NEVER, Operation, Operations
from chaos.storage.storage_path import Place

_TYPES: Final = {"ok": Type.OK, "fail": Type.FAIL, "info": Type.INFO}
_USUAL: Final = ("f", "type", "invoke", "complete", "process", "key", "value", "output")


def read(path: Place) -> Operations:
    """A whole history.

    Raises:
        HistoryError: naming file, line and fault.
    """
    lines = Lines(path, _operation, is_closed=lambda _: True)
    items = sorted(lines, key=lambda operation: operation.invoke)
    return Operations(items=items, cut_off=lines.cut_off, missing=Missing.ANY)


def _operation(line: str, number: int) -> Operation:
    try:
        said: Any = msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from error
    if not isinstance(said, dict):
        raise ValueError("the line is no JSON object")  # noqa: TRY004 - text, not types
    type_ = _TYPES.get(str(said.get("type")))
    if type_ is None:
        raise ValueError(f'"type" is ok, fail or info, not {said.get("type")!r}')
    if not isinstance(said.get("f"), str):
        raise ValueError(f'"f" is a string, not {said.get("f")!r}')  # noqa: TRY004
    invoke, complete = _instant(said, "invoke"), _instant(said, "complete")
    if invoke is None:
        raise ValueError('"invoke" is missing')
    if complete is not None and complete < invoke:
        raise ValueError(f"the operation completes at {complete}, before it is invoked at {invoke}")
    if complete is None and type_ != Type.INFO:
        raise ValueError(f'an operation that is {said["type"]} has an instant "complete"')
    value = freeze(said.get("value"))
    return Operation(
        f=said["f"],
        type=type_,
        invoke=invoke,
        complete=NEVER if type_ == Type.INFO or complete is None else complete,
        number=number,
        process=freeze(said.get("process")),
        key=freeze(said.get("key")),
        argument=value,
        output=freeze(said["output"]) if "output" in said else value,
        answered=complete is not None,
        extra={name: freeze(item) for name, item in said.items() if name not in _USUAL},
    )


def _instant(said: dict[str, Any], which: str) -> int | None:
    number = said.get(which)
    if number is None:
        return None
    if type(number) is int and abs(number) < NEVER:
        return number
    raise ValueError(f'"{which}" is an integer of 64 bits, not {number!r}')


FORMAT: Final = Format(help="a JSON object a line, for tools of your own", read=read, usual_model="log")
