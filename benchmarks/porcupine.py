"""Porcupine beside us: a small Go program that judges the same histories, built in a temporary folder.

The models are the usual ones of Porcupine's own tests. Needs ``go``.
"""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from chaos.core.op import Type
from chaos.formats.operations import NEVER
from checkers.objects.calls import Call

MODULE = "github.com/anishathalye/porcupine@v1.3.1"
TIMEOUT_S = 20

PROGRAM = r"""
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
)

type op struct {
	F      string `json:"f"`
	A      string `json:"a"`
	B      string `json:"b"`
	Out    string `json:"out"`
	Ok     bool   `json:"ok"`
	Client int    `json:"client"`
	Call   int64  `json:"call"`
	Return int64  `json:"return"`
}

func equal(a, b interface{}) bool { return a == b }

func step(state, input, output interface{}) (bool, interface{}) {
	in, now := input.(op), state.(string)
	switch in.F {
	case "read", "get":
		return in.Out == now, now
	case "write", "put":
		return true, in.A
	case "append":
		return true, now + in.A
	case "cas":
		if in.Ok {
			return now == in.A, in.B
		}
		return now != in.A, now
	case "acquire":
		return now == "", "locked"
	case "release":
		return now == "locked", ""
	case "enqueue":
		return true, now + in.A + ";"
	case "dequeue":
		head := in.Out + ";"
		if len(now) < len(head) || now[:len(head)] != head {
			return false, now
		}
		return true, now[len(head):]
	}
	panic(in.F)
}

func main() {
	file, err := os.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	var timeout time.Duration
	fmt.Sscan(os.Args[2], &timeout)
	timeout *= time.Second
	decoder := json.NewDecoder(bufio.NewReader(file))
	var history []porcupine.Operation
	for decoder.More() {
		var one op
		if err := decoder.Decode(&one); err != nil {
			panic(err)
		}
		history = append(history, porcupine.Operation{
			ClientId: one.Client, Input: one, Output: one.Out, Call: one.Call, Return: one.Return})
	}
	model := porcupine.Model{Init: func() interface{} { return "" }, Step: step, Equal: equal}
	begin := time.Now()
	result := porcupine.CheckOperationsTimeout(model, history, timeout)
	fmt.Println(result, time.Since(begin).Seconds())
}
"""


def build_program(folder: Path) -> Path | str:
    """The program, or why it cannot be built."""
    if shutil.which("go") is None:
        return "go is not installed"
    (folder / "main.go").write_text(PROGRAM)
    for argv in (["go", "mod", "init", "judge"], ["go", "get", MODULE], ["go", "build", "-o", "judge", "."]):
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode:
            return f"{' '.join(argv)}: {done.stderr.strip().splitlines()[-1]}"
    return folder / "judge"


def _line(call: Call, client: int) -> str:
    a, b = call.argument if call.f == "cas" else (call.argument, None)
    said = {"a": a, "b": b, "out": call.output}
    return json.dumps(
        {
            "f": call.f,
            "ok": call.outcome is Type.OK,
            "client": client,
            "call": call.invoke,
            "return": min(call.complete, NEVER),
            **{name: "" if one is None else str(one) for name, one in said.items()},
        }
    )


def answer_of(program: Path, calls: Sequence[Call], file: Path) -> tuple[str, float]:
    """Porcupine's word (Ok, Illegal, Unknown) on a history without indeterminate operations, and its seconds."""
    file.write_text("\n".join(_line(call, call.process) for call in calls))
    argv = [str(program), str(file), str(TIMEOUT_S)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=3 * TIMEOUT_S)
    word, seconds = done.stdout.split()
    return word, float(seconds)
