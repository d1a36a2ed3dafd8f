"""The anomalies of a whole key space with revisions, the strongest first (semantics.md, 66 and 67)."""

from typing import Final

from checkers.anomalies.kind_by_place import kind

REVISIONS: Final = (
    kind(
        "kv-wrong-read",
        ("read that does not fit its revision", "reads that do not fit their revision"),
        "a read that returned something else than there was at its revision",
        "a read returns what all changes up to its revision left",
        rule="66",
        excused_by="nobody",
    ),
    kind(
        "kv-wrong-answer",
        ("change that was answered wrongly", "changes that were answered wrongly"),
        "a transaction, delete, revocation or compaction whose answer does not fit what there was",
        "a change is answered by what there was when it took place",
        rule="66",
        excused_by="nobody",
    ),
    kind(
        "kv-revision-twice",
        ("revision given twice", "revisions given twice"),
        "two changes that were told one revision",
        "each change has a revision of its own",
        rule="66",
        excused_by="nobody",
    ),
    kind(
        "kv-revision-skipped",
        ("revision without a change", "revisions without a change"),
        "a revision that was reached, and that no operation can have made",
        "the revision grows by one with each change",
        rule="66",
        excused_by="nobody",
    ),
    kind(
        "kv-stale-read",
        ("read of an old revision", "reads of old revisions"),
        "a read at a lower revision than was answered before it was called",
        "a read sees at least what was answered before it was called",
        rule="66",
        excused_by="nobody",
    ),
    kind(
        "kv-revision-reordered",
        ("change below an earlier one", "changes below earlier ones"),
        "a change at a revision that had been answered before it was called",
        "a change takes place above every revision that was answered before it was called",
        rule="66",
        excused_by="nobody",
    ),
)
