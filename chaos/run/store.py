"""The run folder: plain files, there from the first second, complete enough after ``kill -9`` to be judged.

Folders can be tarred, moved and merged.
"""

import os
import re
import secrets
from datetime import UTC, datetime
from pathlib import Path

from chaos.core.errors import UsageError


def make_run_folder(store: Path, group: str, link: str = "current") -> Path:
    """Make ``store/<group>/<utc>-<4 hex>`` with its subfolders and point ``store/<link>`` at it."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    folder = store / group / f"{stamp}-{secrets.token_hex(2)}"
    try:
        for part in ("history", "logs", "nodes"):
            (folder / part).mkdir(parents=True)
    except OSError as error:
        raise UsageError(f"--store {store}: {error.strerror}; name a folder that can be written") from None
    point(store / link, folder)
    return folder.absolute()


def point(link: Path, folder: Path) -> None:
    """Make ``link`` a relative symbolic link to ``folder``, replacing an older one in one step."""
    partial = link.with_name(f".{link.name}-{secrets.token_hex(4)}")
    partial.symlink_to(os.path.relpath(folder, link.parent))
    partial.replace(link)


def _within(folder: Path) -> list[Path]:
    """What is in a folder but hidden names, which are links on their way; nothing if it has gone or is a file."""
    try:
        return [path for path in folder.iterdir() if not path.name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        return []


def runs_in(store: Path) -> list[Path]:
    """The run folders of a store, the oldest first; others may come and go meanwhile."""
    found = (run for group in _within(store) for run in _within(group) if (run / "run.json").is_file())
    return sorted(found, key=lambda folder: (folder.name, folder))


def find_run(text: str, store: Path) -> Path:
    """A run folder by path, by the word ``latest``, by -1, -2, … from the newest, or by the beginning of its id.

    ``latest`` is the newest that was judged, -1 the newest that was begun.

    Raises:
        UsageError: none or several match.
    """
    path = Path(text)
    if (path / "run.json").is_file():
        return path.resolve()
    if text == "latest" and (store / "latest").is_dir():
        return (store / "latest").resolve()
    if path.is_file():
        raise UsageError(
            f"{text}: a file, not a run folder; chaos check {text} --format NAME --model NAME reads one of another tool"
        )
    if path.exists():
        raise UsageError(f"{text}: no run.json in it; name a run folder that `chaos run` made")
    if re.fullmatch(r"-[1-9]\d*", text):
        runs = runs_in(store)
        if int(text[1:]) > len(runs):
            raise UsageError(f"{text}: {store} has {len(runs)} run{'' if len(runs) == 1 else 's'}")
        return runs[int(text)].resolve()
    matches = [folder for folder in runs_in(store) if folder.name.startswith(text)]
    if len(matches) == 1:
        return matches[0].resolve()
    if matches:
        raise UsageError(f"{text}: {len(matches)} runs in {store} begin so, e.g. {matches[0].name}, {matches[1].name}")
    raise UsageError(f"{text}: no such run folder, and no run in {store} begins so")
