"""Pages under docs/ that are generated from stored run data are exactly what their generator makes of it."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_rocketmq_page_is_what_the_stored_runs_say() -> None:
    spec = importlib.util.spec_from_file_location("rocketmq_matrix", ROOT / "benchmarks" / "rocketmq_matrix.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.page(module.rows()) == (ROOT / "docs" / "rocketmq.md").read_text()
