"""Every hand-made history of coordination and of queues gets exactly the row that it names, from the raw stream on."""

import pytest
from coordination_histories import (
    PATHS,
    QUEUES,
    differences,
    headline_differences,
    literal_of,
    row_of,
    write_folder,
)

from checkers.engine import local_engine


@pytest.mark.parametrize("path", PATHS + QUEUES, ids=lambda path: path.stem)
def test_history_locally(path, tmp_path):
    literal = literal_of(path)
    assert literal["name"] == path.stem
    results = local_engine.judge(write_folder(literal, tmp_path / "run"))
    row = row_of(results, literal["check"])
    assert differences(row, literal["expect"]) == []
    assert headline_differences(results, literal["expect"]) == []
    for name, one in row.anomalies.items():
        assert results.anomalies[name].count == one.count
        assert all(example.ops for example in one.examples), "the operations are shown"
