"""How fast histories are read: records a second of Kafka-style ones, with one process and with two, and of registers.

``python benchmarks/edn.py [records]`` writes a history as the research's generator does (10 processes, 20 keys, half
sends, polls of up to 20 messages of a key) and reads it. CPU seconds are those of all processes.
"""

import random
import resource
import sys
import tempfile
import time
from pathlib import Path

from chaos.formats import jepsen, kafka, text
from chaos.formats.jepsen import EventReader

PROCESSES = 10
KEYS = 20
MOST_POLLED = 20


def write_history(path: Path, records: int, *, vector: bool = False) -> None:
    """A valid history; ``vector``: in one vector on one line."""
    draw = random.Random(7)
    logs: list[list[int]] = [[] for _ in range(KEYS)]
    cursors = [[0] * KEYS for _ in range(PROCESSES)]
    with path.open("w") as file:
        file.write("[" if vector else "")
        for number in range(records // 2):
            process, key = draw.randrange(PROCESSES), draw.randrange(KEYS)
            log = logs[key]
            if draw.random() < 0.5:
                log.append(len(log))
                f, asked, got = (
                    "send",
                    f"[[:send {key} {len(log) - 1}]]",
                    f"[[:send {key} [{len(log) - 1} {len(log) - 1}]]]",
                )
            else:
                at = cursors[process][key]
                upto = min(len(log), at + MOST_POLLED)
                cursors[process][key] = upto
                messages = " ".join(f"[{offset} {log[offset]}]" for offset in range(at, upto))
                f, asked, got = "poll", "[[:poll]]", f"[[:poll {{{key} [{messages}]}}]]" if messages else "[[:poll {}]]"
            for half, type_, value in ((0, "invoke", asked), (1, "ok", got)):
                index = 2 * number + half
                file.write(f"{{:index {index}, :time {index * 1_234_567}, :type :{type_}, :process {process}, ")
                file.write(f":f :{f}, :value {value}}}")
                file.write(" " if vector else "\n")
        file.write("]" if vector else "")


def write_register(path: Path, records: int) -> None:
    """Writes, reads and compare-and-sets of ten processes."""
    with path.open("w") as file:
        for number in range(records // 2):
            f, value = [("write", number), ("read", "nil"), ("cas", f"[1 {number}]")][number % 3]
            for half, type_ in ((0, "invoke"), (1, "ok")):
                file.write(f"{{:index {2 * number + half}, :time {number * 1_234_567}, :type :{type_}, ")
                file.write(f":process {number % PROCESSES}, :f :{f}, :value {value}}}\n")


def _cpu_s() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def measure(name: str, path: Path, read: object) -> None:
    """One line: records a second by the wall and by the processors."""
    cpu_s, begin_s = _cpu_s(), time.perf_counter()
    records = read()  # type: ignore[operator]
    took_s, cpu_s = time.perf_counter() - begin_s, _cpu_s() - cpu_s
    megabytes = path.stat().st_size / 1e6
    print(
        f"{name:28} {records:>10,} records {took_s:7.2f} s {records / took_s:>10,.0f} /s"
        f" {records / cpu_s:>10,.0f} /CPU s {megabytes / took_s:7.1f} MB/s"
    )


def main() -> None:
    """Write and read."""
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory(prefix="chaos-edn-") as folder:
        lines, vector, small = Path(folder) / "lines.edn", Path(folder) / "vector.edn", Path(folder) / "small.edn"
        write_history(lines, records)
        write_history(vector, records // 4, vector=True)
        write_history(small, records // 50)
        print(f"{lines.stat().st_size / records:.0f} bytes a record, chunks of {text.CHUNK_BYTES >> 10} KiB")
        measure("lines, one process", lines, lambda: len(kafka.read(lines, processes=1).columns.ops.index))
        measure("lines, two processes", lines, lambda: len(kafka.read(lines, processes=2).columns.ops.index))
        measure("one vector", vector, lambda: len(kafka.read(vector).columns.ops.index))
        register = Path(folder) / "register.edn"
        write_register(register, records // 4)
        measure("registers, events", register, lambda: sum(1 for _ in EventReader(register)))
        measure("registers, paired", register, lambda: 2 * len(jepsen.read(register).items))
        measure("general reader", small, lambda: sum(1 for _ in EventReader(small)))
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
