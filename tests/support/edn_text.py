"""Histories as Hypothesis draws them, and their texts in every notation that Jepsen's tools write."""

import json
import tempfile
from contextlib import contextmanager
from pathlib import Path

from hypothesis import strategies as st

from chaos.formats.edn import Keyword

TYPES = ("invoke", "ok", "fail", "info")


def printed(value):
    """What Clojure's pr-str gives."""
    if value is None or isinstance(value, bool):
        return {None: "nil", True: "true", False: "false"}[value]
    if isinstance(value, Keyword | int | float):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{printed(k)} {printed(v)}" for k, v in value.items()) + "}"
    if isinstance(value, frozenset):
        return "#{" + " ".join(map(printed, value)) + "}"
    return "[" + " ".join(map(printed, value)) + "]"


MARKS = b'{}[] \n:"#;\\05-xn,.('
"""Bytes that mean something in EDN or JSON."""


def spoil(draw, words, marks=MARKS):
    """Text in which a byte is replaced by one of ``marks``, or one of these is put in."""
    at = draw(st.integers(0, len(words)))
    return words[:at] + bytes([draw(st.sampled_from(list(marks)))]) + words[at + draw(st.integers(0, 1)) :]


INTS = st.one_of(st.integers(-3, 40), st.integers(-(2**63) + 1, 2**63 - 1), st.sampled_from([10**8, -(10**16), 10**18]))
KEYS = st.one_of(st.integers(0, 4), st.integers(0, 4), st.sampled_from([-5, 2**62, "k", "a b", Keyword(":k")]))
VALUES = st.one_of(st.integers(0, 99), INTS, st.sampled_from([None, "v", "[{", "5", Keyword(":v"), 2**70, True, 1.5]))
OFFSETS = st.one_of(st.none(), st.integers(0, 20), INTS)


def _rarely(usual, strange):
    return st.integers(0, 15).flatmap(lambda drawn: strange if drawn == 0 else usual)


KEY = _rarely(st.integers(0, 4), KEYS)
VALUE = _rarely(st.integers(0, 99), VALUES)
OFFSET = _rarely(st.integers(0, 20), OFFSETS)
SEND, POLL = Keyword(":send"), Keyword(":poll")
MOPS = st.one_of(
    st.tuples(st.just(SEND), KEY, VALUE),
    st.tuples(st.just(SEND), KEY, st.tuples(OFFSET, VALUE)),
    st.just((POLL,)),
    st.tuples(
        st.just(POLL), st.dictionaries(KEY, st.lists(st.tuples(OFFSET, VALUE), max_size=3).map(tuple), max_size=3)
    ),
)


@st.composite
def kafka_record(draw, index):
    f = draw(st.sampled_from(["send", "poll", "txn", "txn", "assign", "subscribe", "crash", "debug-topic-partitions"]))
    if f in ("send", "poll", "txn"):
        value = tuple(draw(st.lists(MOPS, max_size=4)))
    else:
        value = None if f == "crash" else tuple(draw(st.lists(KEY, max_size=3)))
    record = {
        "index": index,
        "time": draw(st.one_of(st.integers(0, 10**12), st.integers(-5, 5))),
        "type": Keyword(":" + draw(st.sampled_from(TYPES))),
        "process": draw(_rarely(st.integers(0, 5), st.just(Keyword(":nemesis")))),
        "f": Keyword(":" + f),
        "value": draw(_rarely(st.just(value), st.none())),
    }
    extra = draw(
        _rarely(
            st.just({}),
            st.sampled_from(
                [
                    {"error": "no [answer; {"},
                    {"error": (Keyword(":unknown"), "a\nb")},
                    {"node": "n1"},
                    {"poll-ms": 100},
                    {"seek-to-beginning?": True},
                    {"rebalance-log": ({Keyword(":keys"): (1, 7)},)},
                    {"link": Keyword(":a")},
                    {"rebalance-log": ()},
                    {"rebalance-log": ((),)},
                ]
            ),
        )
    )
    return {**record, **extra}


@st.composite
def kafka_history(draw):
    """Records whose members stand in one drawn order, now and then without index or time."""
    count = draw(st.integers(0, 12))
    records = [draw(kafka_record(index)) for index in range(count)]
    absent = draw(_rarely(st.just(()), st.sampled_from([("index",), ("time",), ("index", "time")])))
    order = draw(st.permutations(["index", "time", "type", "process", "f", "value"])) if draw(st.booleans()) else []
    return [
        {name: record[name] for name in [*order, *(n for n in record if n not in order)] if name not in absent}
        for record in records
    ]


LISTS = _rarely(
    st.one_of(st.none(), st.lists(VALUE, max_size=4).map(tuple)), st.sampled_from([7, "5", ((1,), 2), (None, 3), {}])
)
MICROS = {
    True: st.one_of(
        st.tuples(st.just(Keyword(":append")), KEY, VALUE.filter(lambda one: one is not None)),
        st.tuples(st.just(Keyword(":r")), KEY, LISTS.filter(lambda one: one is None or isinstance(one, tuple))),
    ),
    False: st.one_of(
        st.tuples(st.just(Keyword(":w")), KEY, _rarely(st.integers(0, 99), st.one_of(INTS, st.just((1, 2))))),
        st.tuples(st.just(Keyword(":r")), KEY, _rarely(VALUE, LISTS)),
    ),
}
"""Micro-operations of lists and of registers."""
LEFT_OUT = st.just((Keyword(":r"), 1))


@st.composite
def txn_history(draw, *, lists):
    """Records of transactions, paired or not, now and then with something strange."""
    micros = st.lists(_rarely(MICROS[lists], LEFT_OUT), max_size=4).map(tuple)
    return [
        {
            "index": index,
            "time": draw(st.integers(-2, 10**10)),
            "type": Keyword(":" + draw(st.sampled_from(TYPES))),
            "process": draw(_rarely(st.integers(0, 5), st.just(Keyword(":nemesis")))),
            "f": Keyword(":" + draw(_rarely(st.just("txn"), st.just("read")))),
            "value": draw(_rarely(micros, st.none())),
            **draw(_rarely(st.just({}), st.sampled_from([{"error": (Keyword(":abort"), "a\nb")}, {"node": "a"}]))),
        }
        for index in range(draw(st.integers(0, 10)))
    ]


PLAIN = _rarely(
    st.integers(-9, 40), st.one_of(st.none(), INTS, st.sampled_from(["5", "a b", 2**70, Keyword(":x"), True]))
)
PLAIN_VALUES = st.one_of(
    PLAIN,
    st.tuples(PLAIN, PLAIN),
    st.tuples(PLAIN, st.tuples(PLAIN, PLAIN)),
    _rarely(PLAIN, st.sampled_from([(), (1,), (1, 2, 3), ((1, 2), 3), {}, {"a": 1}, frozenset({1}), (1, (2, (3, 4)))])),
)
WORDS = _rarely(
    st.sampled_from(["read", "write", "cas", "transfer", "generate"]),
    st.sampled_from(["dequeue", "dequeued", "an-operation", "an-operatiom", "longer-than-two-loads", "read?", "r"]),
)


@st.composite
def plain_history(draw):
    """Records of registers and the like, now and then with something strange."""
    return [
        {
            "index": index,
            "time": draw(st.integers(-2, 10**10)),
            "type": Keyword(":" + draw(st.sampled_from(TYPES))),
            "process": draw(_rarely(st.integers(0, 5), st.just(Keyword(":nemesis")))),
            "f": Keyword(":" + draw(WORDS)),
            "value": draw(PLAIN_VALUES),
            **draw(_rarely(st.just({}), st.sampled_from([{"error": "x"}, {"node": "a b"}]))),
        }
        for index in range(draw(st.integers(0, 8)))
    ]


def edn_lines(records):
    return ["{" + ", ".join(f":{name} {printed(value)}" for name, value in record.items()) + "}" for record in records]


def spread(line):
    """The same record over several lines."""
    return line.replace(", :", ",\n  :")


LAYOUTS = {
    "lines": lambda lines: "".join(line + "\n" for line in lines),
    "no-last-line-end": "\n".join,
    "commented": lambda lines: "; a [history\n" + "".join(f"\n {line} ; of\n" for line in lines),
    "records": lambda lines: "".join(f"#jepsen.history.Op{line}\r\n" for line in lines),
    "vector": lambda lines: "[" + " ".join(lines) + "]",
    "vector-of-lines": lambda lines: "[" + "\n ".join(lines) + "]\n",
    "vector-without-blanks": lambda lines: " [" + "".join(lines) + "] ; end",
    "list": lambda lines: "; of records\n(" + "\n".join(lines) + ")\n",
    "spread": lambda lines: "".join(spread(line) + "\n" for line in lines),
    "late-spread": lambda lines: "".join((line if at < 2 else spread(line)) + "\n" for at, line in enumerate(lines)),
}


def json_plain(value):
    """A record's member as JSON has it: keywords are strings, keys of objects as well."""
    if isinstance(value, Keyword):
        return value[1:]
    if isinstance(value, dict):
        return {str(json_plain(key)): json_plain(item) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(map(json_plain, value))
    return [json_plain(item) for item in value] if isinstance(value, tuple) else value


def json_text(records, *, array):
    lines = [json.dumps({name: json_plain(value) for name, value in record.items()}) for record in records]
    return "[" + ",\n".join(lines) + "]" if array else "".join(line + "\n" for line in lines)


@contextmanager
def written(words):
    """A file of these words, gone afterwards, whatever comes of what is tried with it."""
    with tempfile.TemporaryDirectory(prefix="chaos-formats-") as folder:
        path = Path(folder) / "history.edn"
        path.write_text(words, encoding="utf-8", newline="")
        yield path
