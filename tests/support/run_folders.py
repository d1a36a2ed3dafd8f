"""Run folders as other tools write them."""

import json


def as_another_tool_writes_it(folder):
    """Let the tables of a run folder be another tool's: no manifest, and no checksums beside those of the streams."""
    (folder / "manifest.json").unlink()
    run = json.loads((folder / "run.json").read_text())
    del run["checksum"]
    (folder / "run.json").write_text(json.dumps({**run, "status": "foreign"}))
    for path in (folder / "history").glob("w*.facts.json"):
        facts = json.loads(path.read_text())
        for name in ("checksum", "made_of", "tables"):
            del facts[name]
        path.write_text(json.dumps(facts))
    for path in (folder / "history").glob("*.events"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            del line["checksum"]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "history" / "events.facts.json").unlink(missing_ok=True)
