"""What writes a file about a run: the page, JUnit's XML, and whatever an installed package adds.

Reporters are found by name in the entry-point group ``chaos.reporters``, the built-in ones too. Each is a pure function
of what a run folder holds; here their files are written, whole or not at all. Does not judge.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Final, Protocol

from chaos import plugins
from chaos.core.errors import UsageError
from reports.folder import Parts, read_parts

GROUP: Final = "reporters"
PAGE: Final = "html"
"""The reporter that every run has."""


class Reporter(Protocol):
    """Makes one file of a run; made without arguments.

    ``help``: one line. ``file``: what it is called in the run's folder.
    """

    name: str
    help: str
    file: str

    def render(self, parts: Parts) -> str:
        """The file's text. Pure; also of a run that crashed or was never judged."""
        ...


@plugins.cache_by_plugins
def _load_reporters() -> tuple[dict[str, Reporter], dict[str, str]]:
    """The reporters by name, and of those that cannot be used why."""
    found: dict[str, Reporter] = {}
    broken: dict[str, str] = {}
    for name in plugins.names(GROUP):
        try:
            found[name] = _load_checked(name, found)
        except (UsageError, TypeError, AttributeError) as error:
            broken[name] = str(error)
    return found, broken


def _load_checked(name: str, others: Mapping[str, Reporter]) -> Reporter:
    """The reporter behind an entry point.

    Raises:
        TypeError: it is none, is one of another name, or its file is not its own.
    """
    reporter: Reporter = plugins.load(GROUP, name)()
    lacking = [one for one in ("name", "help", "file", "render") if not hasattr(reporter, one)]
    if lacking:
        raise TypeError(f"{name}: {reporter!r} is no reporter: it has no {', '.join(lacking)}")
    if reporter.name != name:
        raise TypeError(f"the entry point {name!r} leads to the reporter {reporter.name!r}; give both one name")
    if PurePath(reporter.file).name != reporter.file:
        raise TypeError(f"{name}: its file {reporter.file!r} must be a plain name")
    for other in others.values():
        if other.file == reporter.file:
            raise TypeError(f"{name}: its file {reporter.file!r} is that of {other.name}")
    return reporter


def reporters() -> Mapping[str, Reporter]:
    """Every reporter that can be used, by name."""
    return MappingProxyType(_load_reporters()[0])


def broken_reporters() -> Mapping[str, str]:
    """The names of the reporters that cannot be used, and why."""
    return MappingProxyType(_load_reporters()[1])


def reporter_named(name: str) -> Reporter:
    """The reporter of that name.

    Raises:
        UsageError: there is none.
    """
    found, why = _load_reporters()
    if name not in found:
        raise UsageError(
            f"no reporter {name!r} here{f': {why[name]}' if name in why else plugins.did_you_mean(name, found)}"
        )
    return found[name]


def write(folder: Path, names: Iterable[str] = ()) -> list[Path]:
    """Write the files of some reporters into a run folder, in place of older ones; returns their paths.

    Works on a run that crashed or was never judged, and says so in the file.

    Args:
        folder: the run's.
        names: the reporters; none: the page, and every other one whose file is there already, since a file of an older
            verdict would say what is not so.

    Raises:
        HistoryError: the folder has no ``run.json``, or a file in it cannot be read.
        UsageError: there is no such reporter.
    """
    chosen = [reporter_named(name) for name in dict.fromkeys(names)]
    if not chosen:
        chosen = [one for one in reporters().values() if one.name == PAGE or (folder / one.file).exists()]
    made = {one.file for one in reporters().values()}
    parts = read_parts(folder, made)
    return [_write_text(folder / one.file, one.render(parts)) for one in chosen]


def _write_text(target: Path, text: str) -> Path:
    """A file, replaced in one step."""
    partial = target.with_name(f"{target.name}.partial")
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target
