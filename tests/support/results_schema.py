"""The JSON schema of ``results.json``, made of the structs: docs/reference/results.schema.json.

Write it again, and look at the difference:

    .venv/bin/python tests/support/results_schema.py && git diff docs/reference/results.schema.json
"""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).resolve().parent.parent.parent
FILE = ROOT / "docs" / "reference" / "results.schema.json"


def schema() -> dict[str, Any]:
    """The schema; ``checksum`` is what a file has beside its struct, as its last member."""
    from chaos.core.verdict import Results

    made = msgspec.json.schema(Results)
    definitions = made["$defs"]
    definitions["Results"]["properties"]["checksum"] = {
        "type": "string",
        "description": "CRC-32 of all bytes before it, in hex.",
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "results.json of a run of chaos",
        "$ref": "#/$defs/Results",
        "$defs": dict(sorted(definitions.items())),
    }


def text() -> str:
    """The file's text."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    FILE.write_text(text())
    print(FILE)
