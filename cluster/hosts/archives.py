"""Folders that travel between machines: known by what they hold, and unpacked with suspicion."""

import hashlib
import shutil
import tarfile
from pathlib import Path


def digest_of(folder: Path) -> str:
    """What a folder holds, as a word: names, which files are programs, and content."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            kind = "x" if path.stat().st_mode & 0o100 else "-"
            digest.update(f"{path.relative_to(folder)}\0{kind}{path.stat().st_size}\0".encode())
            with path.open("rb") as file:
                while chunk := file.read(1 << 20):
                    digest.update(chunk)
    return digest.hexdigest()


def unpack(packed: Path, target: Path) -> None:
    """The plain files of a tar archive, and no path that leads out of ``target``: it comes from elsewhere."""
    with tarfile.open(packed) as tar:
        for member in tar:
            path = (target / member.name).resolve()
            content = tar.extractfile(member) if member.isfile() else None
            if content is not None and path.is_relative_to(target.resolve()):
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("wb") as file:
                    shutil.copyfileobj(content, file)
