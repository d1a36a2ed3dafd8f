"""Run folders as other versions of chaos left them."""

import json


def as_version_2(folder):
    """Let a run folder be one of version 2: no manifest, and no checksums beside those of the streams' records."""
    (folder / "manifest.json").unlink()
    run = json.loads((folder / "run.json").read_text())
    del run["checksum"]
    (folder / "run.json").write_text(json.dumps({**run, "schema_version": 2}))
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
