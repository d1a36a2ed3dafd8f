"""Runs of the command, and the rows that are kept of them.

A row holds what run.json and results.json said, with the command and the commit that made it. Files of
rows are appended to, so a series of runs can be cut off and taken up again. Nothing here judges.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs" / "data"
DEADLINE_S = 900


def stored(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, oldest first."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def commit() -> str:
    """The commit that is run, with a mark if anything but docs/ has changes."""

    def git(*argv: str) -> str:
        return subprocess.run(["git", *argv], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)docs")
    return git("rev-parse", "--short=10", "HEAD") + ("-dirty" if changed else "")


def perform(command: str, store: Path) -> tuple[Path, int]:
    """Run ``chaos …`` to its end; returns its folder and its exit code.

    Raises:
        SystemExit: it ended before it had made a folder; what it said is printed.
    """
    current = store / "current"
    before = current.resolve() if current.exists() else None
    out = subprocess.run(
        [sys.executable, "-m", "chaos", *command.split()[1:], "--store", str(store)],
        cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S, check=False,
    )  # fmt: skip
    folder = current.resolve()
    if folder == before or not folder.exists():
        raise SystemExit(f"no run was made, exit {out.returncode}: {command}\n{out.stdout[-3000:]}{out.stderr[-3000:]}")
    if out.returncode not in (0, 1, 2) or not (folder / "results.json").exists():
        print(out.stdout[-3000:], out.stderr[-3000:], sep="\n", flush=True)
    return folder, out.returncode


def row_of(folder: Path, command: str, code: int) -> dict[str, Any]:
    """One run as a row."""
    info = json.loads((folder / "run.json").read_text())
    path = folder / "results.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    return {
        "command": command,
        "exit": code,
        "valid": results.get("valid"),
        "reason": results.get("reason", "") or info.get("error") or "",
        "sentence": results.get("sentence", ""),
        "engine": results.get("engine"),
        "commit": commit(),
        "run": folder.name,
        "began": info["origin_utc"],
        "seed": info["seed"],
        "timings_s": info["timings_s"],
        "counts": results.get("counts", {}),
        "anomalies": {name: found["count"] for name, found in results.get("anomalies", {}).items()},
        "allowed": [name for name, found in results.get("anomalies", {}).items() if found["allowed"]],
        "faults": [
            {
                "name": fault["name"],
                "targets": fault["targets"],
                "proven": fault["proven"],
                "healed": fault["healed"],
                "skipped": fault["skipped"],
                "lost": fault["lost"],
                "rto": [rto for rto in fault["rto"] if rto["key"] == -1],
            }
            for fault in results.get("faults", [])
        ],
    }


def keep(path: Path, row: dict[str, Any]) -> None:
    """Append a row."""
    path.parent.mkdir(exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def seeds_of(text: str) -> list[int]:
    """The seeds of ``FIRST-LAST``."""
    first, last = map(int, text.split("-"))
    return list(range(first, last + 1))


def seconds(rto: dict[str, Any]) -> float | None:
    """An RTO as a number: None for no outage, infinity for one that did not end."""
    if rto["seconds"] is None:
        return None
    return float(rto["seconds"]) if rto["recovered"] else float("inf")


def outage_cells(faults: list[dict[str, Any]]) -> tuple[int, str, str]:
    """How many faults stopped no send, and the median and the longest outage of the others as they are shown."""
    found = [seconds(rto) for fault in faults for rto in fault["rto"] if rto["f"] == "send"]
    outages = [rto for rto in found if rto is not None]
    if not outages:
        return len(found), "-", "-"
    return len(found) - len(outages), f"{median(outages):.1f} s", f"{max(outages):.1f} s"


def parser(description: str | None, seeds: str) -> argparse.ArgumentParser:
    """What every series of runs is told: run or render, which seeds, where run folders go."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("what", choices=["run", "render"])
    made.add_argument("--seeds", default=seeds, type=seeds_of, metavar="FIRST-LAST", help=f"[default: {seeds}]")
    made.add_argument("--store", type=Path, default=ROOT / "store")
    return made
