"""Histories as Porcupine's tests have them: etcd console logs of Jepsen, and maps of a key-value store.

A console line is ``INFO  jepsen.util - 3 :invoke :write 4`` with any blanks between (``history.txt`` of a Jepsen store
has the same without the prefix), a line of a kv file ``{:process 0, :type :ok, :f :append, :key "4", :value "x"}``.
There are no times: lines are the order.

The module keeps Porcupine's conventions: a read of nil found nothing, a failed cas saw another value.
"""

import re
from typing import Any, Final

from chaos.formats import edn
from chaos.formats.format import Format
from chaos.formats.jepsen import event
from chaos.formats.lines import Lines
from chaos.formats.operations import Operations, pair_events
from chaos.formats.records import Event
from chaos.storage.storage_path import Place

_CONSOLE: Final = re.compile(
    r"(?:[A-Z]+\s+\S+\s+-\s+)?(?P<process>\d+|:[^\s]+)\s+:(?P<type>invoke|ok|fail|info)\s+(?P<f>:\S+)(?:\s+(?P<rest>.*))?"
)


def read(path: Place) -> Operations:
    """A whole history.

    Raises:
        HistoryError: naming file, line and fault.
    """
    lines = Lines(path, _event, is_closed=lambda line: line.lstrip().startswith(b"{"))
    operations, others = pair_events(path, lines)
    return Operations(
        items=operations, others=others, cut_off=lines.cut_off, nil_means="absent", failed_cas_observes=True
    )


def _event(line: str, number: int) -> Event:
    if line.lstrip().startswith("{"):
        return event(_form(line), number)
    match = _CONSOLE.fullmatch(line.strip())
    if match is None:
        raise ValueError("the line is neither `process :type :f value` nor a map")
    values = [form.value for form in _forms(match["rest"] or "")]
    record = {
        "process": edn.atom(match["process"]),
        "type": match["type"],
        "f": edn.atom(match["f"]),
        "value": values[0] if values else None,
    }
    return event(record, number)


def _forms(text: str) -> list[edn.Form]:
    try:
        return list(edn.forms(text))
    except edn.EdnError as error:
        raise ValueError(error.fault) from error


def _form(line: str) -> Any:
    forms = _forms(line)
    if len(forms) != 1:
        raise ValueError(f"{len(forms)} records on one line")
    return forms[0].value


FORMAT: Final = Format(help="logs of Porcupine's tests", read=read)
