"""``results.json``, ``series.json`` and the folder ``anomalies``: a verdict as files."""

import shutil
from pathlib import Path

import msgspec

from chaos.core.verdict import Anomaly, Results
from chaos.storage.manifest import write_checked
from checkers.engine.judge import Judged


def _explanation(name: str, anomaly: Anomaly) -> str:
    lines = [f"{name}: {anomaly.count}{' (allowed: promised so)' if anomaly.allowed else ''}"]
    if anomaly.part_of is not None:
        lines.append(f"The same cause as {anomaly.part_of}.")
    lines += ["", *(example.sentence for example in anomaly.examples)]
    if anomaly.count > len(anomaly.examples):
        lines.append(f"(showing {len(anomaly.examples)} of {anomaly.count})")
    return "\n".join(lines) + "\n"


def _write_anomalies(folder: Path, results: Results) -> None:
    top = folder / "anomalies"
    shutil.rmtree(top, ignore_errors=True)
    for number, (name, anomaly) in enumerate(results.anomalies.items(), start=1):
        place = top / f"{number:03d}-{name}"
        place.mkdir(parents=True)
        (place / "explain.txt").write_text(_explanation(name, anomaly))
        rows = [op for example in anomaly.examples for op in example.ops]
        (place / "ops.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


def write_results(folder: Path, judged: Judged) -> Results:
    """Write a verdict into its run folder, replacing an earlier one; the results that stand there now."""
    _write_anomalies(folder, judged.results)
    write_checked(folder / "series.json", msgspec.json.encode(judged.series))
    write_checked(folder / "results.json", msgspec.json.format(msgspec.json.encode(judged.results), indent=1))
    return judged.results
