"""A copy of a store's pages and results that any web server can show: relative links, nothing of the machine.

Every page is written again from what was stored, without what ``reports.across.redact`` takes out. Histories and logs
stay where they are: they are large, and nobody can tell what a node wrote into them.
"""

import os
import shutil
import socket
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from chaos.core.errors import ChaosError, UsageError
from chaos.core.matrix_results import PLAN, ROWS
from chaos.storage.manifest import write_checked
from chaos.storage.runinfo import write_run
from reports import words
from reports.across.figures import figures_of
from reports.across.index import page, view
from reports.across.redact import Private, Redactor, private_of
from reports.across.stores import Store, Stored, StoredMatrix, StoreReader
from reports.folder import Parts, read_parts
from reports.matrix.pages import texts
from reports.reporter import reporters

MARK: Final = "publication.json"
"""What tells a published folder, which may be replaced, from anything else."""
RESULTS: Final = ("run.json", "results.json", "plan.jsonl")
"""What is published of a run beside its reports."""


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """What was made, as ``publication.json`` says it."""

    chaos_version: str
    runs: int
    left_out: int
    matrices: int
    files: int
    size: int


def publish(source: Path, target: Path, last: int | None, version: str) -> Published:
    """Write a publication in place of an older one.

    Args:
        source: a store, or the folder of a matrix.
        target: a folder, or a file whose name ends in .zip.
        last: only so many runs, the newest; None: all.
        version: of chaos, which the publication tells.

    Raises:
        UsageError: there is nothing to publish, or something else is at the target.
    """
    store = StoreReader(source).read()
    if not store.runs and not store.matrices:
        raise UsageError(f"{source}: no runs in it; name a store, or a folder that `chaos matrix` made")
    _check_target(target, source)
    with _folder_beside(target) as made:
        kept = store.runs if last is None else store.runs[len(store.runs) - min(last, len(store.runs)) :]
        private = private_of_machine(source)
        shown = [_run(run, made / run.where, private) for run in kept]
        present = {run.where for run in shown if run.has_page}
        matrices = tuple(_matrix(matrix, made / matrix.where, present, Redactor(private)) for matrix in store.matrices)
        left_out = len(store.runs) - len(kept)
        note = (f"the newest {len(kept)} of {words.plural(len(store.runs), 'run')}",) if left_out else ()
        text = page(view(Store(runs=tuple(shown), matrices=matrices), facts=note))
        (made / "index.html").write_text(text, encoding="utf-8")
        files = [path for path in made.rglob("*") if path.is_file()]
        told = Published(
            chaos_version=version,
            runs=len(kept),
            left_out=left_out,
            matrices=len(matrices),
            files=len(files),
            size=sum(path.stat().st_size for path in files),
        )
        (made / MARK).write_bytes(msgspec.json.format(msgspec.json.encode(told), indent=1) + b"\n")
        _move_into_place(made, target)
    return told


def private_of_machine(source: Path) -> Private:
    """What is private of the machine that publishes."""
    places = {
        str(source.resolve()): source.resolve().name,
        str(Path.cwd()): ".",
        str(Path.home()): "~",
    }
    return private_of(places, (socket.gethostname(), socket.getfqdn()), os.environ)


def redact_parts(parts: Parts, redactor: Redactor, name: str) -> Parts:
    """What is told of a run without what is private; its files are those that are published."""
    kept = tuple((path, size) for path, size in parts.files if path in RESULTS)
    run = msgspec.structs.replace(parts.run, boot_id="")
    told = redactor.struct(msgspec.structs.replace(parts, run=run, files=(), folder=""))
    return msgspec.structs.replace(told, folder=name, files=kept, file_count=len(kept))


def _run(run: Stored, folder: Path, private: Private) -> Stored:
    """Write the reports and results of a run; what cannot be read is told on the index alone."""
    unreadable = msgspec.structs.replace(
        run, figures=None, has_page=False, error=Redactor(private).text(run.error or "it cannot be read")
    )
    if run.figures is None:
        return unreadable
    try:
        found = read_parts(run.folder)
    except ChaosError as error:
        return msgspec.structs.replace(unreadable, error=Redactor(private).text(str(error)))
    parts = redact_parts(found, Redactor(private, found.run), run.id)
    folder.mkdir(parents=True)
    for reporter in reporters().values():
        (folder / reporter.file).write_text(reporter.render(parts), encoding="utf-8")
    _results(parts, folder)
    return msgspec.structs.replace(run, figures=figures_of(parts.run, parts.results), has_page=True)


def _results(parts: Parts, folder: Path) -> None:
    names = {path for path, _ in parts.files}
    write_run(folder, parts.run)
    if parts.results is not None:
        write_checked(folder / "results.json", msgspec.json.format(msgspec.json.encode(parts.results), indent=1))
    if "plan.jsonl" in names:
        (folder / "plan.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in parts.plan))


def _matrix(matrix: StoredMatrix, folder: Path, present: set[str], redactor: Redactor) -> StoredMatrix:
    """Write the pages and results of a matrix; only runs that are published have links."""
    plan, rows = redactor.struct(matrix.plan), tuple(redactor.struct(row) for row in matrix.rows)
    folder.mkdir(parents=True, exist_ok=True)
    reported = {row.run for row in rows if f"{matrix.where}/{row.run}" in present}
    for name, text in texts(plan, rows, reported).items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / PLAN).write_bytes(msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n")
    (folder / ROWS).write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return msgspec.structs.replace(matrix, plan=plan, rows=rows)


def _is_zip(target: Path) -> bool:
    return target.suffix == ".zip"


def _check_target(target: Path, source: Path) -> None:
    """Nothing but an older publication is replaced.

    Raises:
        UsageError: something else is there, or the store itself would be.
    """
    if source.resolve().is_relative_to(target.resolve()) or target.resolve().is_relative_to(source.resolve()):
        raise UsageError(f"{target}: name a place outside of {source}")
    if not target.parent.is_dir():
        raise UsageError(f"{target}: there is no folder {target.parent}; make it first")
    if not target.exists():
        return
    if _is_zip(target):
        if not target.is_file():
            raise UsageError(f"{target}: it is a folder; name a file, or a folder that does not end in .zip")
    elif not target.is_dir() or (any(target.iterdir()) and not (target / MARK).is_file()):
        raise UsageError(f"{target}: it is there already and chaos did not publish it; name another, or remove it")


@contextmanager
def _folder_beside(target: Path) -> Iterator[Path]:
    """A folder to be filled beside the target, so that it can take its place in one step."""
    made = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.absolute().parent))
    try:
        made.chmod(0o755)
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _move_into_place(made: Path, target: Path) -> None:
    """Put what was made where it was asked for."""
    if not _is_zip(target):
        if target.exists():
            shutil.rmtree(target)
        made.rename(target)
        return
    partial = target.with_name(f"{target.name}.partial")
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in _sorted_files(made):
                archive.write(path, path.relative_to(made).as_posix())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _sorted_files(folder: Path) -> Sequence[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())
