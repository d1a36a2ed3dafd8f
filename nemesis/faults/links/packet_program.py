"""The program that faults of packets put on hosts: gets packets from the kernel and says what becomes of them.

Plain standard library, fed to ``python3 -I -S -`` by ``nemesis.faults.links.packets``; its one argument is JSON::

    {"do": "hold", "delay_ms": 100, "jitter_ms": 20, …}      later, in their order
    {"do": "duplicate", "share": 0.2, …}                      some come twice
    {"do": "corrupt", "share": 0.1, "mend": 0, …}             one bit of some is another
    {"do": "reorder", "share": 0.25, "delay_ms": 50, …}       some come later, the others pass them
    {"do": "rate", "kbit": 1000, "buffer_ms": 500, …}         from each source no more than that
    {"do": "burst", "share": 0.3, "length": 10, …}            some are lost, many in a row
        … "queue": 7, "most": 20000, "pid_file": "…"                        -> "ready"
    {"do": "try", "queue": 7, "port": 40000, "delay_ms": 20}  -> {"took_ms": 20.4, "copies": 2}, over the loopback

It goes on in the background until SIGTERM, and then lets everything go. Packets come through an NFQUEUE and stay in the
kernel until this program says by number that they may go on; the kernel drops what exceeds ``most``, as a full link
does. ``hold`` does not see their bytes: a delay is drawn anew 20 times a second, and who comes later never leaves
earlier. If the program dies the kernel drops what it held, and what comes then passes (``--queue-bypass``).
"""

import heapq
import json
import os
import random
import select
import signal
import socket
import struct
import sys
import time
from collections import deque

_NETLINK_NETFILTER = 12
_SOL_NETLINK, _NETLINK_NO_ENOBUFS = 270, 5
_QUEUE_SUBSYSTEM = 3 << 8
_PACKET, _VERDICT, _CONFIG, _BATCH = 0, 1, 2, 3
_VERDICT_HEADER, _PAYLOAD = 2, 10
_ERROR = 2
_BIND, _COPY_META, _COPY_PACKET = 1, 1, 2
_GSO = 4
_DROP, _ACCEPT = 0, 1
_REQUEST, _ACK = 1, 4
_HEADER, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=HH")
_BUFFER_BYTES = 8 << 20
_FORCED_BUFFER = 33
_NO_CHECKSUM = 11
_DRAWN_S = 0.05
_WHOLE, _HEADERS = 0xFFFF, 40
_TCP, _UDP = 6, 17
MARK = 0x5EED


def _attribute(kind: int, data: bytes) -> bytes:
    return _ATTRIBUTE.pack(len(data) + 4, kind) + data + bytes(-len(data) % 4)


class Queue:
    """One NFQUEUE of this network namespace."""

    def __init__(self, number: int, most: int, copied: int = 0) -> None:
        """Listen to it and see so many bytes of each packet; OSError if that cannot be done, or somebody else does."""
        self._number = number
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER)
        self.socket.bind((0, 0))
        try:
            self.socket.setsockopt(socket.SOL_SOCKET, _FORCED_BUFFER, _BUFFER_BYTES)
        except OSError:  # only root outside of a user namespace may
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
        self.socket.setsockopt(_SOL_NETLINK, _NETLINK_NO_ENOBUFS, 1)
        self._configure(_attribute(1, struct.pack("=BBH", _BIND, 0, 0)))
        self._configure(_attribute(2, struct.pack(">IB", copied, _COPY_PACKET if copied else _COPY_META)))
        self._configure(_attribute(3, struct.pack(">I", most)))
        if not copied:  # bytes are complete, with their checksum, only of packets as they are on a wire
            self._configure(_attribute(4, struct.pack(">I", _GSO)) + _attribute(5, struct.pack(">I", _GSO)))

    def _send(self, kind: int, attributes: bytes, flags: int) -> None:
        body = struct.pack("=BBH", 0, 0, socket.htons(self._number)) + attributes
        self.socket.send(_HEADER.pack(len(body) + _HEADER.size, _QUEUE_SUBSYSTEM | kind, flags, 0, 0) + body)

    def _configure(self, attributes: bytes) -> None:
        """Send a setting and wait for its acknowledgement."""
        self._send(_CONFIG, attributes, _REQUEST | _ACK)
        answer = self.socket.recv(1 << 16)
        _, kind, *_ = _HEADER.unpack_from(answer)
        if kind == _ERROR and (code := struct.unpack_from("=i", answer, _HEADER.size)[0]):
            raise OSError(-code, os.strerror(-code))

    def arrived(self) -> list[tuple[int, bytes]]:
        """The packets that have come, in their order: number, and the bytes that are copied."""
        found: list[tuple[int, bytes]] = []
        while True:
            try:
                data = self.socket.recv(1 << 17, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return found
            at = 0
            while at + _HEADER.size <= len(data):
                length, kind, *_ = _HEADER.unpack_from(data, at)
                if kind == _QUEUE_SUBSYSTEM | _PACKET:
                    found.append(_packet(data, at + _HEADER.size + 4, at + length))
                at += (length + 3) & ~3 or len(data)

    def let_go(self, last: int) -> None:
        """Let this packet and all before it go on."""
        self._send(_BATCH, _attribute(_VERDICT_HEADER, struct.pack(">II", _ACCEPT, last)), _REQUEST)

    def accept(self, number: int, data: bytes = b"") -> None:
        """Let one packet go on, with other bytes if some are given."""
        said = _attribute(_VERDICT_HEADER, struct.pack(">II", _ACCEPT, number))
        self._send(_VERDICT, said + (_attribute(_PAYLOAD, data) if data else b""), _REQUEST)

    def drop(self, number: int) -> None:
        """Lose one packet."""
        self._send(_VERDICT, _attribute(_VERDICT_HEADER, struct.pack(">II", _DROP, number)), _REQUEST)


def _packet(data: bytes, at: int, end: int) -> tuple[int, bytes]:
    """Number and bytes of a packet in a message; the first attribute holds the number."""
    number, payload = struct.unpack_from(">I", data, at + _ATTRIBUTE.size)[0], b""
    while at + _ATTRIBUTE.size <= end:
        length, kind = _ATTRIBUTE.unpack_from(data, at)
        if kind == _PAYLOAD:
            payload = data[at + _ATTRIBUTE.size : at + length]
        at += (length + 3) & ~3 or end
    return number, payload


class Treatment:
    """What becomes of packets; by itself nothing."""

    copied = _WHOLE

    def come(self, queue: Queue, packets: list[tuple[int, bytes]], now_s: float) -> None:
        """These packets have come now."""
        for number, data in packets:
            self.one(queue, number, data, now_s)

    def one(self, queue: Queue, number: int, data: bytes, now_s: float) -> None:  # noqa: ARG002 - see subclasses
        """One of them."""
        queue.accept(number)

    def due(self, queue: Queue, now_s: float) -> None:
        """Let go what has waited long enough."""

    def wait_s(self, now_s: float) -> float:  # noqa: ARG002 - see subclasses
        """How long until the next one is due; a second if none waits."""
        return 1.0


class Line(Treatment):
    """The packets that wait, in their order."""

    copied = 0

    def __init__(self, delay_ms: float, jitter_ms: float) -> None:
        self._delay_s, self._jitter_s = delay_ms / 1e3, jitter_ms / 1e3
        self._waiting: deque[tuple[float, int]] = deque()
        self._drawn_s = self._last_due_s = 0.0
        self._drawn_at_s = -_DRAWN_S

    def come(self, queue: Queue, packets: list[tuple[int, bytes]], now_s: float) -> None:  # noqa: ARG002 - see Treatment
        """See ``Treatment``."""
        if packets and now_s - self._drawn_at_s >= _DRAWN_S:
            self._drawn_at_s = now_s
            self._drawn_s = self._delay_s + random.uniform(-self._jitter_s, self._jitter_s)
        self._last_due_s = max(self._last_due_s, now_s + self._drawn_s)
        self._waiting.extend((self._last_due_s, number) for number, _ in packets)

    def due(self, queue: Queue, now_s: float) -> None:
        """See ``Treatment``; all at once."""
        last = None
        while self._waiting and self._waiting[0][0] <= now_s:
            last = self._waiting.popleft()[1]
        if last is not None:
            queue.let_go(last)

    def wait_s(self, now_s: float) -> float:
        """See ``Treatment``."""
        return max(0.0, self._waiting[0][0] - now_s) if self._waiting else 1.0


class Duplicate(Treatment):
    """Some packets come twice: a copy is sent to ourselves with a mark, which no rule of ours leads here again."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._out = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self._out.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, MARK)

    def one(self, queue: Queue, number: int, data: bytes, now_s: float) -> None:  # noqa: ARG002 - see Treatment
        """See ``Treatment``."""
        queue.accept(number)
        if random.random() < self._share:
            self.copy(data)

    def copy(self, data: bytes) -> None:
        """Have a packet come again."""
        try:
            self._out.sendto(data, (socket.inet_ntoa(data[16:20]), 0))
        except OSError:  # a buffer is full: a copy less
            return


class Corrupt(Treatment):
    """One bit of the data of some packets is another; without ``mend`` their checksum is wrong then."""

    def __init__(self, share: float, mend: int) -> None:
        self._share, self._mend = share, mend

    def one(self, queue: Queue, number: int, data: bytes, now_s: float) -> None:  # noqa: ARG002 - see Treatment
        """See ``Treatment``."""
        queue.accept(number, self.changed(data) if random.random() < self._share else b"")

    def changed(self, data: bytes) -> bytes:
        """The packet with one bit of its data flipped; empty if it stays as it is."""
        start = (data[0] & 15) * 4
        head = 8 if data[9] == _UDP else (data[start + 12] >> 4) * 4 if data[9] == _TCP else 0
        body = start + head
        if body >= len(data):  # nothing but a header: a bit of that, which its checksum shows
            if self._mend:
                return b""
            body = start
        out = bytearray(data)
        out[random.randrange(body, len(out))] ^= 1 << random.randrange(8)
        if self._mend and head:
            _mend(out, start)
        return bytes(out)


def _mend(packet: bytearray, start: int) -> None:
    """Give a TCP or UDP packet the checksum of its bytes; UDP without one keeps none."""
    at = start + (16 if packet[9] == _TCP else 6)
    if packet[9] == _UDP and packet[at : at + 2] == b"\0\0":
        return
    packet[at : at + 2] = b"\0\0"
    length = len(packet) - start
    summed = packet[12:20] + struct.pack("!HH", packet[9], length) + packet[start:] + bytes(length % 2)
    total = sum(struct.unpack(f"!{len(summed) // 2}H", summed))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    packet[at : at + 2] = struct.pack("!H", (~total & 0xFFFF) or 0xFFFF)


class Waiting(Treatment):
    """Packets that wait, each until a time of its own."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int]] = []

    def later(self, number: int, due_s: float) -> None:
        """Let a packet go then."""
        heapq.heappush(self._heap, (due_s, number))

    def due(self, queue: Queue, now_s: float) -> None:
        """See ``Treatment``."""
        while self._heap and self._heap[0][0] <= now_s:
            queue.accept(heapq.heappop(self._heap)[1])

    def wait_s(self, now_s: float) -> float:
        """See ``Treatment``."""
        return max(0.0, self._heap[0][0] - now_s) if self._heap else 1.0


class Reorder(Waiting):
    """Some packets come later, so that those that follow pass them."""

    copied = _HEADERS

    def __init__(self, share: float, delay_ms: float) -> None:
        super().__init__()
        self._share, self._delay_s = share, delay_ms / 1e3

    def one(self, queue: Queue, number: int, data: bytes, now_s: float) -> None:  # noqa: ARG002 - see Treatment
        """See ``Treatment``."""
        if random.random() < self._share:
            self.later(number, now_s + self._delay_s)
        else:
            queue.accept(number)


class Rate(Waiting):
    """From each source so many bits a second pass, in their order; what would wait too long is lost."""

    copied = _HEADERS

    def __init__(self, kbit: float, buffer_ms: float) -> None:
        super().__init__()
        self._bytes_per_s, self._most_s = kbit * 125, buffer_ms / 1e3
        self._free_s: dict[bytes, float] = {}

    def one(self, queue: Queue, number: int, data: bytes, now_s: float) -> None:
        """See ``Treatment``."""
        source, size = data[12:16], int.from_bytes(data[2:4], "big")
        free_s = max(now_s, self._free_s.get(source, 0.0))
        if free_s - now_s > self._most_s:
            queue.drop(number)
            return
        self._free_s[source] = free_s + size / self._bytes_per_s
        self.later(number, self._free_s[source])


class Burst(Treatment):
    """From each source some packets are lost, ``length`` in a row on average (Gilbert's model of two states)."""

    copied = _HEADERS

    def __init__(self, share: float, length: float) -> None:
        self._ends = 1 / length
        self._begins = min(1.0, share / (length * (1 - share)))
        self._losing: dict[bytes, bool] = {}

    def one(self, queue: Queue, number: int, data: bytes, now_s: float) -> None:  # noqa: ARG002 - see Treatment
        """See ``Treatment``."""
        (queue.drop if self.lost(data[12:16]) else queue.accept)(number)

    def lost(self, source: bytes) -> bool:
        """Whether the next packet from there is."""
        before = self._losing.get(source, False)
        now = random.random() >= self._ends if before else random.random() < self._begins
        self._losing[source] = now
        return now


TREATMENTS: dict[str, type[Treatment]] = {
    "hold": Line,
    "duplicate": Duplicate,
    "corrupt": Corrupt,
    "reorder": Reorder,
    "rate": Rate,
    "burst": Burst,
}


def serve(treatment: Treatment, queue: int, most: int, pid_file: str) -> None:
    """Treat packets in the background until SIGTERM."""
    source = Queue(queue, most, treatment.copied)
    ended, ending = os.pipe()
    if (pid := os.fork()) > 0:
        with open(pid_file, "w", encoding="ascii") as file:  # noqa: PTH123 - pathlib would double the start-up
            file.write(f"{pid}\n")
        print("ready", flush=True)
        os._exit(0)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)

    def end(_number: int, _frame: object) -> None:
        os.write(ending, b"x")

    signal.signal(signal.SIGTERM, end)
    watched: list[socket.socket | int] = [source.socket, ended]
    while True:
        ready, _, _ = select.select(watched, [], [], treatment.wait_s(time.monotonic()))
        treatment.come(source, source.arrived(), time.monotonic())
        if ended in ready:
            treatment.due(source, float("inf"))
            return
        treatment.due(source, time.monotonic())


def attempt(queue: int, port: int, delay_ms: float) -> None:
    """Hold one datagram to ourselves and let it come twice, once altered; a rule leads those to this port here."""
    source, again, other = Queue(queue, 10, _WHOLE), Duplicate(0), Corrupt(1, 0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.setsockopt(socket.SOL_SOCKET, _NO_CHECKSUM, 1)
        own.bind(("127.0.0.1", port))
        own.settimeout(2.0)
        began_s = time.monotonic()
        own.sendto(b"?", own.getsockname())
        if not select.select([source.socket], [], [], 2.0)[0]:
            raise OSError("no packet came into the queue")
        number, data = source.arrived()[-1]
        time.sleep(delay_ms / 1e3)
        source.accept(number, other.changed(data))
        altered = own.recv(1) != b"?"
        took_ms = (time.monotonic() - began_s) * 1e3
        again.copy(data)
        copies = int(altered) + (own.recv(1) == b"?")
        print(json.dumps({"took_ms": took_ms, "copies": copies}))


def main() -> None:
    """Do as ordered."""
    orders = json.loads(sys.argv[1])
    do = orders.pop("do")
    try:
        if do == "try":
            attempt(**orders)
        else:
            where = {name: orders.pop(name) for name in ("queue", "most", "pid_file")}
            serve(TREATMENTS[do](**orders), **where)
    except OSError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
