"""Anomalies of lists that need no cycle: each is seen in one read, one transaction or one key.

Definitions are those of the reference checker (``elle.list-append`` of Elle 0.2.8); ``docs/semantics.md`` has them in
words. Keys whose reads all agree are judged by lengths alone, the others element by element.
"""

import numpy as np

from chaos.basics.name_lists import join_names
from chaos.basics.variable_lengths import spread
from chaos.core.op import Type
from checkers.history.columns import Ints, Mask
from checkers.txn.anomaly_cases import Case, Cases, counted_cases
from checkers.txn.lists import Lists
from checkers.txn.same_key_operations import intermediate, previous_rows, touches_of, updates
from checkers.txn.transactions import Kind
from checkers.txn.words import Words

_NAMED = 4
"""Transactions of a lost update that its sentence names."""


class ListScans:
    """All scans of one history."""

    def __init__(self, lists: Lists) -> None:
        self.lists, self.t, self.owner = lists, lists.t, lists.owner
        self.words = Words(lists.t, lists=True)
        self.is_ok: Mask = lists.type == Type.OK
        self.by = touches_of(lists.t, lists.owner)
        self.ok_reads: Ints = lists.reads[self.is_ok[lists.reads]]

    def all(self) -> list[Cases]:
        """What all scans find."""
        scans = (
            *(self.duplicates, self.incompatible, self.internal, self.future, self.aborted, self.phantoms),
            *(self.between, self.dirty, self.lost),
        )
        return [one for scan in scans for one in scan()]

    def _read_case(self, micro: int, sentence: str, *others: int) -> Case:
        own = int(self.owner[micro])
        told = f"{self.words.who(own)} read {self.words.key(micro)} as {self.words.read(micro)}, {sentence}"
        return Case(told, (own, *others))

    def _elements(self, reads: Ints) -> tuple[Ints, Ints]:
        """The elements of reads, and the read of each."""
        counts = self.lists.lengths[reads]
        return self.t.elements[spread(self.t.read_first[reads], counts)], np.repeat(reads, counts)

    def _odd(self, reads: Ints) -> Ints:
        """Those reads that have to be looked at element by element."""
        chosen: Ints = reads[self.lists.odd[self.t.key[reads]]]
        return chosen

    def duplicates(self) -> list[Cases]:
        """duplicate-elements: a read shows an element twice. A case per read."""
        element, read = self._elements(self._odd(self.lists.reads))
        order = np.lexsort((element, read))
        again = (element[order[1:]] == element[order[:-1]]) & (read[order[1:]] == read[order[:-1]])
        at = order[1:][again]
        reads, places = np.unique(read[at], return_index=True)
        return counted_cases(
            "duplicate-elements",
            reads,
            element[at][places],
            tell=lambda micro, one: self._read_case(micro, f"which has {self.words.value(one)} more than once"),
        )

    def incompatible(self) -> list[Cases]:
        """incompatible-order: no order of appends explains two reads of a key. A case per key."""
        broken = np.flatnonzero(self.lists.broken)
        _, places = np.unique(self.t.key[broken], return_index=True)

        def tell(micro: int) -> Case:
            other = int(self.lists.longest[self.t.key[micro]])
            own = int(self.owner[other])
            sentence = f"and {self.words.who(own)} read it as {self.words.read(other)}: neither is the beginning of the"
            return self._read_case(micro, f"{sentence} other, so no order of appends explains both", own)

        return counted_cases("incompatible-order", broken[places], tell=tell)

    def internal(self) -> list[Cases]:
        """internal: a read disagrees with what its own transaction read or appended before. A case per transaction."""
        by, t, lengths = self.by, self.t, self.lists.lengths
        rows, start = np.arange(len(by.micro)), by.start()
        kind = t.kind[by.micro]
        is_read = (kind == Kind.READ) & self.is_ok[by.micro]
        base = previous_rows(rows, is_read, start)
        later = np.flatnonzero(is_read & (rows > start))
        low = np.where(base[later] >= 0, base[later] + 1, start[later])
        counts = later - low  # the appends between the two reads
        read, earlier = by.micro[later], np.where(base[later] >= 0, by.micro[base[later]], -1)
        known = np.where(earlier >= 0, lengths[earlier], 0)
        wrong = np.where(earlier >= 0, lengths[read] != known + counts, lengths[read] < counts)
        self._unlike_earlier(wrong, read, earlier, known)
        self._unlike_appended(wrong, read, by.micro[spread(low, counts)], counts)
        _, places = np.unique(self.owner[read[wrong]], return_index=True)
        return counted_cases("internal", read[wrong][places], earlier[wrong][places], tell=self._internal_case)

    def _unlike_earlier(self, wrong: Mask, read: Ints, earlier: Ints, known: Ints) -> None:
        """Mark reads that do not begin with what was read before."""
        at = np.flatnonzero(~wrong & (earlier >= 0) & (known > 0))
        at = at[self.lists.odd[self.t.key[read[at]]]]  # of other keys all reads are beginnings of one list
        first, counts = self.t.read_first, known[at]
        unlike = self.t.elements[spread(first[read[at]], counts)] != self.t.elements[spread(first[earlier[at]], counts)]
        wrong[np.repeat(at, counts)[unlike]] = True

    def _unlike_appended(self, wrong: Mask, read: Ints, appends: Ints, counts: Ints) -> None:
        """Mark reads that do not end with what was appended since."""
        which = np.repeat(np.arange(len(read)), counts)
        from_end = np.repeat(np.cumsum(counts), counts) - np.arange(len(appends))
        fits = ~wrong[which]
        which, appends, from_end = which[fits], appends[fits], from_end[fits]
        element = self.t.elements[self.t.read_first[read[which] + 1] - from_end]
        wrong[which[element != self.t.value[appends]]] = True

    def _internal_case(self, micro: int, earlier: int) -> Case:
        own = int(self.owner[micro])
        since = [
            one
            for one in range(max(earlier + 1, int(self.t.first[own])), micro)
            if self.t.key[one] == self.t.key[micro] and self.t.kind[one] == Kind.APPEND
        ]
        told = [f"read it as {self.words.read(earlier)}"] if earlier >= 0 else []
        if since:
            told.append(f"appended {join_names([self.words.value(int(self.t.value[one])) for one in since])}")
        return self._read_case(micro, f"although it had itself {' and then '.join(told)} before")

    def future(self) -> list[Cases]:
        """future-read: a transaction read an element that it appended only later. A case per transaction."""
        by, t = self.by, self.t
        rows, start = np.arange(len(by.micro)), by.start()
        is_read = (t.kind[by.micro] == Kind.READ) & self.is_ok[by.micro] & (self.lists.lengths[by.micro] > 0)
        appends = np.flatnonzero((t.kind[by.micro] == Kind.APPEND) & (previous_rows(rows, is_read, start) >= 0))
        # All reads of the group before each append: group rows from its start on.
        counts = appends - start[appends]
        append, read = np.repeat(appends, counts), spread(start[appends], counts)
        pairs = is_read[read]
        append, read = by.micro[append[pairs]], by.micro[read[pairs]]
        lengths = self.lists.lengths[read]
        same = t.elements[spread(t.read_first[read], lengths)] == np.repeat(t.value[append], lengths)
        at = np.repeat(np.arange(len(read)), lengths)[same]
        _, places = np.unique(self.owner[read[at]], return_index=True)
        return counted_cases(
            "future-read",
            read[at][places],
            t.value[append[at]][places],
            tell=lambda micro, one: self._read_case(
                micro, f"with {self.words.value(one)}, which it appended only afterwards"
            ),
        )

    def aborted(self) -> list[Cases]:
        """G1a: an ok transaction read what a failed one appended. A case per read and element."""
        element, read = self._elements(self._odd(self.ok_reads))
        append = self.lists.written.by(self.t.key[read], element)
        failed = np.flatnonzero((append >= 0) & ~self.lists.possible[append])

        def tell(micro: int, one: int) -> Case:
            other = int(self.owner[one])
            value = self.words.value(int(self.t.value[one]))
            return self._read_case(micro, f"with {value} of {self.words.who(other)}, which failed", other)

        return counted_cases("G1a", read[failed], append[failed], tell=tell)

    def phantoms(self) -> list[Cases]:
        """phantom: an ok transaction read what nobody appended. A case per read and element."""
        element, read = self._elements(self._odd(self.ok_reads))
        nobody = np.flatnonzero(self.lists.written.by(self.t.key[read], element) < 0)
        return counted_cases(
            "phantom",
            read[nobody],
            element[nobody],
            tell=lambda micro, one: self._read_case(micro, f"with {self.words.value(one)}, which nobody appended"),
        )

    def between(self) -> list[Cases]:
        """G1b: a read ends with an append that its transaction added to later. A case per read."""
        ok = self.is_ok[self.lists.reads]
        reads, last = self.lists.reads[ok], self.lists.last[ok]
        early = intermediate(self.t, self.by)
        found = np.flatnonzero((last >= 0) & early[last] & (self.owner[last] != self.owner[reads]))

        def tell(micro: int, one: int) -> Case:
            other = int(self.owner[one])
            value = self.words.value(int(self.t.value[one]))
            sentence = f"up to {value} of {self.words.who(other)}, which appended more to it in the same transaction"
            return self._read_case(micro, sentence, other)

        return counted_cases("G1b", reads[found], last[found], tell=tell)

    def dirty(self) -> list[Cases]:
        """dirty-update: an ok transaction appended to what a failed one had appended. A case per ok append."""
        order, lists = self.lists.order, self.lists
        key = np.repeat(np.arange(lists.keys), np.diff(order.first))
        certain = np.flatnonzero(order.once & (order.append >= 0))
        certain = certain[lists.type[order.append[certain]] != Type.INFO]
        kind = lists.type[order.append[certain]]
        after = (kind[1:] == Type.OK) & (kind[:-1] == Type.FAIL) & (key[certain[1:]] == key[certain[:-1]])
        at = np.flatnonzero(after)

        def tell(one: int, other: int) -> Case:
            own, failed = int(self.owner[one]), int(self.owner[other])
            mine, theirs = (self.words.value(int(self.t.value[micro])) for micro in (one, other))
            where = f"{self.words.key(one)} behind {theirs} of {self.words.who(failed)}, which failed"
            shown = (own, failed, *self.lists.witnesses(one, other))
            return Case(f"{self.words.who(own)} appended {mine} to {where}", shown)

        return counted_cases("dirty-update", order.append[certain[at + 1]], order.append[certain[at]], tell=tell)

    def lost(self) -> list[Cases]:
        """lost-update: several ok transactions read the same list of a key and all appended to it. A case per list."""
        reads, appends = updates(self.t, self.by, self.is_ok)
        return same_updates(self.words, self.owner, reads, appends, self._states(reads))

    def _states(self, reads: Ints) -> Ints:
        """A number for what each read, the same for the same list of the same key."""
        key = self.t.key[reads]
        state: Ints = (key << 32) | self.lists.lengths[reads]
        seen: dict[tuple[int, bytes], int] = {}
        for place in np.flatnonzero(self.lists.odd[key]).tolist():
            read = int(reads[place])
            content = self.t.elements[self.t.read_first[read] : self.t.read_first[read + 1]].tobytes()
            state[place] = -1 - seen.setdefault((int(key[place]), content), len(seen))
        return state


def same_updates(words: Words, owner: Ints, reads: Ints, writes: Ints, state: Ints) -> list[Cases]:
    """lost-update: updates that rest on the same state.

    Args:
        words: of the history.
        owner: of each micro-operation its transaction.
        reads: what each update rests on.
        writes: what each wrote.
        state: of each read a number for what it read of its key.
    """
    order = np.argsort(state, kind="stable")
    start = np.flatnonzero(np.concatenate(([True], state[order[1:]] != state[order[:-1]])))[: len(order)]
    counts = np.diff(np.append(start, len(order)))
    several = counts > 1

    def tell(lo: int, count: int) -> Case:
        own = order[lo : lo + count]
        micro = int(reads[own[0]])
        transactions = tuple(int(owner[one]) for one in reads[own])
        named = [words.who(one) for one in transactions[:_NAMED]]
        who = join_names([*named, f"{count - _NAMED} more"] if count > _NAMED else named)
        what = ", ".join(words.micro(int(one)) for one in writes[own][:_NAMED])
        every, lost = ("both", "one of the two is") if count == 2 else ("all", "all but one are")  # noqa: PLR2004 - a pair
        sentence = f"{who} {every} read {words.key(micro)} as {words.read(micro)} and then wrote it ({what})"
        return Case(f"{sentence}: each is an update of the same state, so {lost} lost", transactions)

    return counted_cases("lost-update", start[several], counts[several], tell=tell)
