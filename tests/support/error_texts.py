"""Every bad input that is refused in one line, and that line as it was meant: tests/data/errors.txt.

Add a line that begins with ``$ chaos``, write the file again, and look at the difference:

    .venv/bin/python tests/support/error_texts.py && git diff tests/data/errors.txt
"""

import contextlib
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "data" / "errors.txt"
PROMPT = "$ chaos "
PLACE = "/PLACE"
"""Stands for the folder where the commands are typed."""

FILES = {
    "file": "",
    "broken.yaml": "rate: [\n",
    "binary.yaml": b"\xff\xfe",
    "empty.yaml": "",
    "odd.yaml": "system: minimq\nnemesys: noop\n",
    "twice.yaml": "rate: 1\nrate: 2\n",
    "wrong.yaml": "clients: many\n",
    "time.yaml": "system: minimq\ntime-limit: 10 minutes\n",
    "step.yaml": "nemesis:\n- {at: 5, nemesis: leader-kill}\n",
    "noaxes.yaml": "repeats: 2\n",
    "gate.yaml": "system: minimq\nthresholds:\n- lost==0\n- lots==0\n",
    "gate2.yaml": "fail-on: [lost-wrte]\n",
    "gate3.yaml": "allow:\n- {anomaly: stale-tail, system: minimq}\n",
    "gate4.yaml": "allow:\n- anomaly: stale-tial\n  system: minimq\n  reason: x\n",
    "gate5.yaml": "allow:\n- {anomaly: stale-tail, system: minimq, reason: x, until: soon}\n",
    "gate6.yaml": "allow:\n- {anomaly: stale-tail, system: minimqq, reason: x}\n",
    "gate7.yaml": "allow:\n- {anomoly: stale-tail}\n",
    "gate8.yaml": "thresholds: lost==0\n",
    "gate9.yaml": "thresholds: ['p99(sned)<1s']\n",
    "gatem.yaml": "base: {thresholds: ['rto(leader-kil)<=5s']}\naxes:\n  nemesis: [noop]\n",
    "gaten.yaml": "base: {thresholds: ['p99(sned)<=5s']}\naxes:\n  nemesis: [noop]\n",
    "matrix.yaml": "axes:\n  nemesis: [leader-kil]\n",
    "bad.jsonl": '{"row": 1\n',
    "nodes": "n1\n",
    "oddnodes": "nodes:\n  - {adress: n1}\n",
    "oddreuse": "brokr:\n  start: x\n",
    "matrix-seed.yaml": "base: {backend: sim}\naxes:\n  seed: [1, 2]\n",
    "matrix-store.yaml": "base: {store: here}\naxes:\n  nemesis: [noop]\n",
    "matrix-plan.yaml": "base: {backend: sim, plan: none.jsonl}\naxes:\n  nemesis: [leader-kill]\n",
    "matrix-twice.yaml": "axes:\n  nemesis: [noop, noop]\n",
    "matrix-nothing.yaml": "axes:\n  nemesis: []\n",
    "matrix-left-out.yaml": "axes: {nemesis: [noop]}\nexclude: [{nemesis: noop}]\n",
    "list.yaml": "- a\n- b\n",
    "no-steps.yaml": "nemesis: []\n",
    "infinite.yaml": "clients: .inf\n",
    "none.plan": "",
    "list.plan": "[]\n",
    "object.plan": "{}\n",
    "words.txt": "hello world\n",
    "garbage.edn": "}{",
    "store/g/20261122T070001Z-0001/run.json": "{",
    "theirs/run.json": '{"name": "other"}',
    "cut/run.json": '{\n "id": "20261122T070001Z-0001",\n "status": "che',
}
"""What lies in the folder where each command is typed; the run in the store is damaged."""


def lay(folder: Path) -> None:
    """Write the files that the commands meet."""
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def golden() -> dict[str, str]:
    """Command line → what is said, as the file has it."""
    lines = FILE.read_text().splitlines()
    following = [*lines[1:], ""]
    return {
        line.removeprefix(PROMPT): said for line, said in zip(lines, following, strict=True) if line.startswith(PROMPT)
    }


def said(err: str, folder: Path) -> str:
    """What was said, wherever the folder is, and with a resolver or without."""
    err = err.replace("Temporary failure in name resolution", "Name or service not known")
    return err.replace(str(folder), PLACE)


def rewritten(lines: Sequence[str], folder: Path) -> list[str]:
    """The lines of the file with what each command says now."""
    from command_lines import said_here

    found: list[str] = []
    for line in lines:
        if line.startswith(PROMPT):
            found += [line, said(said_here(*shlex.split(line.removeprefix(PROMPT))).err, folder).rstrip("\n")]
        elif not line.startswith("chaos: "):
            found.append(line)
    return found


def main() -> None:
    """Write what every command says now."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        lay(folder)
        with contextlib.chdir(folder):
            made = rewritten(FILE.read_text().splitlines(), folder)
    FILE.write_text("\n".join(made) + "\n")
    print(f"{sum(line.startswith(PROMPT) for line in made)} errors in {FILE}")


if __name__ == "__main__":
    sys.path[:0] = [str(FILE.parent.parent.parent)]
    main()
