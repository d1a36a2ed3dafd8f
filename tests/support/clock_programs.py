"""Programs that print their wall clock all the time: C, Python, the JVM and, where there is a toolchain, Go.

A line is ``NAME WALL MONOTONIC``, in ns, read in that order. The monotonic clock is one for all of this machine, so the
wall clock was read between the line before and this one, and a line bounds how far it was ahead of the machine's.
Nothing is assumed of how soon anything happens.
"""

import base64
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from cluster.host import Host

C = r"""
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long long ns(struct timespec t) { return t.tv_sec * 1000000000ll + t.tv_nsec; }
static void print(const char *name, long long wall) {
  struct timespec mono;
  clock_gettime(CLOCK_MONOTONIC, &mono);
  printf("%s %lld %lld\n", name, wall, ns(mono));
}
static void say(const char *name) {
  struct timespec wall;
  struct timeval val;
  clock_gettime(CLOCK_REALTIME, &wall);
  print(name, ns(wall));
  if (strcmp(name, "c") != 0) return;
  gettimeofday(&val, NULL);
  print("gettimeofday", val.tv_sec * 1000000000ll + val.tv_usec * 1000);
  print("time", time(NULL) * 1000000000ll);
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &wall);
  print("syscall", ns(wall));
}
int main(int count, char **words) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (count > 1) { // a program that was just started, at its first moment and later
    say("first");
    usleep(300000);
    say(words[1]);
    return 0;
  }
  for (;;) say("c"), usleep(50000);
}
"""
PYTHON = b"""
import time
while True:
    print("python", time.time_ns(), time.monotonic_ns(), flush=True)
    time.sleep(0.05)
"""
GO = b"""
package main
import ("fmt"; "syscall"; "time"; "unsafe")
func main() {
	begun := time.Now()
	for {
		now := time.Now()
		var t syscall.Timespec
		syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&t)), 0)
		fmt.Println("go", now.UnixNano(), t.Nano(), now.Sub(begun).Nanoseconds())
		time.Sleep(50 * time.Millisecond)
	}
}
"""
# public class Clk { public static void main(String[] words) throws Exception { while (true) { StringBuilder line =
# new StringBuilder("jvm "); line.append(System.currentTimeMillis() * 1000000L).append(" ").append(System.nanoTime());
# System.out.println(line); Thread.sleep(50); } } }, by javac --release 17 -g:none
JVM = base64.b64decode(
    "yv66vgAAAD0APQoAAgADBwAEDAAFAAYBABBqYXZhL2xhbmcvT2JqZWN0AQAGPGluaXQ+AQADKClWBwAIAQAXamF2YS9sYW5nL1N0"
    "cmluZ0J1aWxkZXIIAAoBAARqdm0gCgAHAAwMAAUADQEAFShMamF2YS9sYW5nL1N0cmluZzspVgoADwAQBwARDAASABMBABBqYXZh"
    "L2xhbmcvU3lzdGVtAQARY3VycmVudFRpbWVNaWxsaXMBAAMoKUoFAAAAAAAPQkAKAAcAFwwAGAAZAQAGYXBwZW5kAQAcKEopTGph"
    "dmEvbGFuZy9TdHJpbmdCdWlsZGVyOwgAGwEAASAKAAcAHQwAGAAeAQAtKExqYXZhL2xhbmcvU3RyaW5nOylMamF2YS9sYW5nL1N0"
    "cmluZ0J1aWxkZXI7CgAPACAMACEAEwEACG5hbm9UaW1lCQAPACMMACQAJQEAA291dAEAFUxqYXZhL2lvL1ByaW50U3RyZWFtOwoA"
    "JwAoBwApDAAqACsBABNqYXZhL2lvL1ByaW50U3RyZWFtAQAHcHJpbnRsbgEAFShMamF2YS9sYW5nL09iamVjdDspVgUAAAAAAAAA"
    "MgoALwAwBwAxDAAyADMBABBqYXZhL2xhbmcvVGhyZWFkAQAFc2xlZXABAAQoSilWBwA1AQADQ2xrAQAEQ29kZQEABG1haW4BABYo"
    "W0xqYXZhL2xhbmcvU3RyaW5nOylWAQANU3RhY2tNYXBUYWJsZQEACkV4Y2VwdGlvbnMHADwBABNqYXZhL2xhbmcvRXhjZXB0aW9u"
    "ACEANAACAAAAAAACAAEABQAGAAEANgAAABEAAQABAAAABSq3AAGxAAAAAAAJADcAOAACADYAAABGAAUAAgAAADG7AAdZEgm3AAtM"
    "K7gADhQAFGm2ABYSGrYAHLgAH7YAFleyACIrtgAmFAAsuAAup//SAAAAAQA5AAAAAwABAAA6AAAABAABADsAAA=="
)
RUN = b"""
./ticker & python3 -I -S ticker.py &
[ ! -x ./ticker-go ] || ./ticker-go &
command -v java > java.path && java -Xshare:auto -XX:TieredStopAtLevel=1 -cp . Clk &
echo serving
while :; do ./ticker young; done
"""
SECOND_NS = 1_000_000_000


def build(folder: Path) -> dict[str, Path]:
    """Programs by the name that they have on a host."""
    (folder / "ticker.c").write_text(C)
    made = {"ticker": folder / "ticker"}
    subprocess.run(["cc", "-static", "-O1", "-o", made["ticker"], folder / "ticker.c"], check=True, timeout=120)
    if shutil.which("go"):
        (folder / "ticker.go").write_bytes(GO)
        made["ticker-go"] = folder / "ticker-go"
        command = ["go", "build", "-o", made["ticker-go"], folder / "ticker.go"]
        subprocess.run(command, check=True, timeout=300, env={**os.environ, "CGO_ENABLED": "0"})
    return made


def put(host: Host, made: dict[str, Path]) -> None:
    """Put all programs into a host's home."""
    for name, path in made.items():
        host.put(path, f"{host.home}/{name}", mode=0o755)
    host.put(PYTHON, f"{host.home}/ticker.py")
    host.put(JVM, f"{host.home}/Clk.class")
    host.put(RUN, f"{host.home}/run.sh")


def wall_at_zero() -> int:
    """What this machine's wall clock showed when its monotonic clock was 0, in ns."""
    reads = [(time.monotonic_ns(), time.time_ns(), time.monotonic_ns()) for _ in range(50)]
    before, wall, after = min(reads, key=lambda one: one[2] - one[0])
    return wall - (before + after) // 2


class Line(NamedTuple):
    """One reading, between two instants of the monotonic clock: how far ahead it was, at least and at most; ns."""

    since: int
    until: int
    least: int
    most: int

    def allows(self, ahead_ns: int, unit_ns: int) -> bool:
        """Whether the clock may have been so much ahead, if it is told in that unit."""
        return self.least - unit_ns <= ahead_ns <= self.most + unit_ns


def parse(text: str) -> dict[str, list[Line]]:
    """What every whole line says, by name, oldest first; of each name without its first."""
    zero, before, found = wall_at_zero(), dict[str, int](), dict[str, list[Line]]()
    for line in text.splitlines()[:-1]:
        name, *numbers = line.split()
        if len(numbers) < 2 or not all(one.isdigit() for one in numbers):
            continue
        wall, until = map(int, numbers[:2])
        if name in before:
            since = before[name]
            found.setdefault(name, []).append(Line(since, until, wall - until - zero, wall - since - zero))
        before[name] = until
    return found


def rate(lines: list[Line]) -> tuple[float, float]:
    """What share of real time the clock gains from the first line to the last, at least and at most."""
    first, last = lines[0], lines[-1]
    spans = (last.since - first.until, last.until - first.since)
    gained = (last.least - first.most, last.most - first.least)
    bounds = [one / span for one in gained for span in spans]
    return min(bounds), max(bounds)
