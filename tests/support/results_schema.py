"""The JSON schemas of what programs read of runs and matrices, made of the structs: docs/reference/*.schema.json.

Write them again, and look at the difference:

    .venv/bin/python tests/support/results_schema.py && git diff docs/reference
"""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "docs" / "reference"
FILE = FOLDER / "results.schema.json"
PLAN = FOLDER / "matrix.schema.json"
ROW = FOLDER / "matrix-cell.schema.json"


def schemas() -> dict[Path, dict[str, Any]]:
    """The schema of each file."""
    from chaos.core.matrix_results import CellRow, MatrixPlan
    from chaos.core.verdict import Results

    results = _schema(Results, "results.json of a run of chaos")
    # What a file has beside its struct, as its last member.
    results["$defs"]["Results"]["properties"]["checksum"] = {
        "type": "string",
        "description": "CRC-32 of all bytes before it, in hex.",
    }
    return {
        FILE: results,
        PLAN: _schema(MatrixPlan, "matrix.json of a matrix of chaos"),
        ROW: _schema(CellRow, "a line of cells.jsonl of a matrix of chaos"),
    }


def _schema(struct: type, title: str) -> dict[str, Any]:
    made = msgspec.json.schema(struct)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "$ref": made["$ref"],
        "$defs": dict(sorted(made["$defs"].items())),
    }


def texts() -> dict[Path, str]:
    """The text of each file."""
    return {path: json.dumps(one, indent=1, ensure_ascii=False) + "\n" for path, one in schemas().items()}


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    for path, text in texts().items():
        path.write_text(text)
        print(path)
