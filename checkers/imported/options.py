"""What is asked of an imported history: its format, the model it is held against, and the model's options.

Does not guess a format; a model is guessed only where a format has but one.
"""

from typing import Final, Literal

import msgspec

from chaos.core.errors import UsageError
from chaos.formats.etcd_robustness import NAME as ETCD_ROBUSTNESS
from chaos.formats.registry import format_named
from checkers.kafka.names import Via
from checkers.objects import registry
from checkers.txn.names import LIST_APPEND, RW_REGISTER

KAFKA: Final = "kafka"
LOG: Final = "log"

TRANSACTIONAL: Final = (LIST_APPEND, RW_REGISTER)
MODELS: Final = (KAFKA, LOG, *TRANSACTIONAL, *registry.MODELS)


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides a verdict beside the file.

    ``init`` and ``nil_means``: of registers; None: as the format's own tool has it. ``sub_via`` and ``ww_deps``: of
    kafka. ``linearizable``: stale reads of a set-full are errors; set and queue must be linearizable.
    ``consistency_models``: of transactions, what they are held to, none for strict-serializable; ``wfr_keys``,
    ``sequential_keys``, ``linearizable_keys``: of rw-register, what the order of versions may be inferred from.
    ``strict``: what the format's reference checker does not call an error is one. ``budget_s``: of searches, seconds a
    file.
    """

    format: str
    model: str
    independent: bool = False
    strict: bool = False
    sub_via: Via = "assign"
    ww_deps: bool = False
    linearizable: bool = False
    init: str | int | None = None
    nil_means: Literal["any", "absent"] | None = None
    consistency_models: tuple[str, ...] = ()
    wfr_keys: bool = False
    sequential_keys: bool = False
    linearizable_keys: bool = False
    budget_s: float = 60.0


def model_for(format_name: str, model: str | None) -> str:
    """The model that is meant.

    Raises:
        UsageError: there is none of that name, or none was named where a format has several.
    """
    import difflib

    usual = format_named(format_name).usual_model
    if model is None:
        if usual is None:
            raise UsageError(
                f"--format {format_name} says nothing of what was tested; add --model, one of {', '.join(MODELS)}"
            )
        return usual
    if model not in MODELS:
        near = difflib.get_close_matches(model, MODELS, n=1)
        guess = f"did you mean {near[0]}?" if near else f"there are {', '.join(MODELS)}"
        raise UsageError(f"--model {model}: no such model; {guess}")
    if format_name == ETCD_ROBUSTNESS and model != usual:
        raise UsageError(f"--model {model}: --format {ETCD_ROBUSTNESS} is judged by kv alone; leave out --model")
    if model == KAFKA and format_name != "jepsen":
        raise UsageError(f"--model kafka is for --format jepsen, not {format_name}")
    if model in TRANSACTIONAL and format_name not in ("jepsen", "jsonl"):
        raise UsageError(f"--model {model} is for --format jepsen or jsonl, not {format_name}")
    if model == LOG and format_name != "jsonl":
        raise UsageError(f"--model log is for --format jsonl (and for runs of our own), not {format_name}")
    return model
