"""Where artefacts are kept for this user: ``CHAOS_CACHE``, else ``$XDG_CACHE_HOME/chaos``, else ``~/.cache/chaos``."""

from collections.abc import Mapping
from pathlib import Path


def cache_root(environment: Mapping[str, str]) -> Path:
    """The folder that these environment variables name; it may not be there yet."""
    if environment.get("CHAOS_CACHE"):
        return Path(environment["CHAOS_CACHE"])
    base = environment.get("XDG_CACHE_HOME") or str(Path(environment.get("HOME", "~")).expanduser() / ".cache")
    return Path(base) / "chaos"
