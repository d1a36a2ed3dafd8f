"""Words that a reader of the page may not know: linked where they stand, explained below the headline. Pure.

The same words are in docs/reference/glossary.md.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from markupsafe import Markup, escape


class Term(NamedTuple):
    """A word, how it is found in a text, and what it means."""

    name: str
    found: re.Pattern[str]
    meaning: str

    @property
    def anchor(self) -> str:
        """Where on the page it is explained."""
        return f"word-{self.name.replace(' ', '-').rstrip('-')}"


def _term(name: str, found: str, meaning: str) -> Term:
    return Term(name, re.compile(found), meaning)


TERMS: Final = (
    _term("controller", r"\bcontrollers?\b", "A node that decides which node leads the others."),
    _term("master", r"\bmaster\b", "The node that leads: it takes the sends, and the others copy its log."),
    _term(
        "epoch",
        r"\bepochs?\b",
        "A number that goes up with each new leader. Who claims an older one was replaced, and may not know it.",
    ),
    _term(
        "term",
        r"\bterms? (?=\d)",
        "What controllers call an epoch: a number that goes up with each new leader of theirs.",
    ),
    _term(
        "SyncStateSet",
        r"\bSyncStateSets?\b",
        "The replicas in sync, elsewhere called ISR: they hold all that was acknowledged, so the next leader is one of "
        "them. Each change of the set gets the next number.",
    ),
    _term("failover", r"\bfailovers?\b", "Another node became leader."),
    _term(
        "pinned client",
        r"\bpinned clients?\b",
        "A client that stays on one node on purpose, whoever leads. So it meets leaders that were replaced.",
    ),
    _term(
        "strong read",
        r"\bstrong reads?\b",
        "A read of all up to the end. Whoever answers it must return what was acknowledged before it began, so a node "
        "that does not lead has to refuse it. A poll or a slave read may be behind.",
    ),
    _term(
        "refused by design",
        r"\brefused by design\b",
        "Refused to a client that stays on one node on purpose, by a node that must not serve. It is no error.",
    ),
    _term("entry", r"\bentry (?=\d)", "One of the places of an object that a watch is told about, by its number."),
    _term("key", r"\bk\d+\b", "An object by its number: k1 is the queue, register, space or place 1."),
    _term("slave read", r"\bslave[- ]reads?\b", "A read from a replica that does not lead. It may be behind."),
    _term(
        "int-",
        r"\bint-(?=poll|nonmonotonic)",
        "Inside one read: int-poll-skip leaves out a record between two others of one read, poll-skip one at "
        "its beginning or end.",
    ),
    _term("RTO", r"\bRTO\b", "Recovery time: for how long operations were not served."),
)


def terms_in(texts: Iterable[str]) -> tuple[Term, ...]:
    """The terms that stand in any of these texts."""
    whole = "\n".join(texts)
    return tuple(term for term in TERMS if term.found.search(whole))


def link_terms(text: str) -> Markup:
    """A text, escaped, in which each term is a link to its explanation where it stands first."""
    places = sorted(
        (match.start(), match.end(), term) for term in TERMS if (match := term.found.search(text)) is not None
    )
    out, at = [], 0
    for start, end, term in places:
        if start >= at:
            link = Markup('<a class="term" href="#{}" title="{}">{}</a>').format(
                term.anchor, term.meaning, text[start:end]
            )
            out += [escape(text[at:start]), link]
            at = end
    return Markup("").join([*out, escape(text[at:])])
