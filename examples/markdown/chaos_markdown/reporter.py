"""``report.md`` of a run: the verdict, its checks and its faults as Markdown, for a comment on a change."""

from collections.abc import Iterable

from reports.folder import Parts

WORDS = {True: "valid", False: "**invalid**", "unknown": "unknown"}


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """The lines of a table; none without rows."""
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *lines, ""] if lines else []


class MarkdownReporter:
    """The verdict as Markdown."""

    name = "markdown"
    help = "the verdict as Markdown: the sentence, the checks, the faults"
    file = "report.md"

    def render(self, parts: Parts) -> str:
        """The file's text; pure, also of a run that crashed or was never judged."""
        run, results = parts.run, parts.results
        lines = [f"# {run.system} {run.system_version}, {run.workload}, {run.nemesis}", ""]
        if results is None:
            return "\n".join([*lines, f"Not judged: {run.error or run.status}.", ""])
        lines += [f"{WORDS[results.valid]}: {results.sentence}", ""]
        lines += table(
            ("check", "verdict", "found"), ((one.name, WORDS[one.valid], one.found) for one in results.checks)
        )
        faults = [one for one in results.faults if not one.skipped]
        lines += table(("fault", "hit", "proof"), ((one.name, " ".join(one.targets), one.evidence) for one in faults))
        return "\n".join([*lines, f"`chaos check {run.id}`", ""])
