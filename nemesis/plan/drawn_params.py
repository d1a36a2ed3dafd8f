"""Other parameters for a nemesis, drawn: words, and shares from 0 to 1. Pure."""

from random import Random
from typing import Final

from nemesis.faults.params import JOIN, Param, params_of
from nemesis.plan.nemesis_names import catalog, parts

WORDS_MOST: Final = 3
_SHARES: Final = (0.1, 0.3, 0.6, 1.0)


def with_params(random: Random, text: str) -> str:
    """A nemesis with other words and other shares from 0 to 1 for its parameters, if it names none itself."""
    name, given, suffix = parts(text)
    entry = catalog()[name]
    known = params_of(entry.how.Params) if entry.fault is not None and not given else ()
    said = ",".join(f"{one.name}={value}" for one in known if (value := _drawn(random, one)))
    return f"{name}:{said}{'' if suffix is None else f'@{suffix}'}" if said else text


def _drawn(random: Random, one: Param) -> str:
    """Another value of a parameter as it is typed; nothing of a text, and of a number that is no share."""
    if one.pattern:
        return ""
    if one.number is not None:
        return str(random.choice(_SHARES)) if one.number.le == 1 else ""
    taken = random.sample(one.words, random.randint(1, min(WORDS_MOST, len(one.words)))) if one.several else ()
    return JOIN.join(word for word in one.words if word in taken) if taken else random.choice(one.words)
