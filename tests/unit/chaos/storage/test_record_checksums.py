import random
import zlib

import numpy as np
import pytest

from chaos.storage.record_checksums import crc32


@pytest.mark.parametrize("size", [2, 28, 60])
def test_same_numbers_as_zlib(size):
    rng = random.Random(size)
    rows = [rng.randbytes(size) for _ in range(40_000)] + [bytes(size), b"\xff" * size]
    records = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(-1, size)
    assert crc32(records).tolist() == [zlib.crc32(row) for row in rows]


def test_no_records():
    assert crc32(np.zeros((0, 28), dtype=np.uint8)).tolist() == []
