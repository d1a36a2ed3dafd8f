"""The EDN reader: every kind of form, what Clojure prints beyond EDN, and where faults are."""

from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import pytest

from chaos.formats.edn import Char, EdnError, Keyword, Map, Symbol, forms, read

FORMS = {
    "nil": None,
    "true": True,
    "false": False,
    "0": 0,
    "-7": -7,
    "+7": 7,
    "42N": 42,
    "123456789012345678901234567890": 123456789012345678901234567890,
    "0x2a": 42,
    "1.5": 1.5,
    "-2.5e-3": -0.0025,
    "1.50M": Decimal("1.50"),
    "-1/3": Fraction(-1, 3),
    "##Inf": float("inf"),
    "##-Inf": float("-inf"),
    '"a\\n\\t\\"\\\\\\u00e9\\101"': 'a\n\t"\\éA',
    '"\\ud83d\\ude00"': "\N{GRINNING FACE}",
    '"a\nb ; [ {"': "a\nb ; [ {",
    r"\a": Char("a"),
    r"\newline": Char("\n"),
    r"\u0041": Char("A"),
    r"\o101": Char("A"),
    r"[\( \n]": ("(", "n"),
    ":a.b/c-d?": Keyword(":a.b/c-d?"),
    "foo/bar": Symbol("foo/bar"),
    "[- + -a ->]": (Symbol("-"), Symbol("+"), Symbol("-a"), Symbol("->")),
    "()": (),
    "[1, 2,,3]": (1, 2, 3),
    "#{1 :a}": frozenset({1, Keyword(":a")}),
    "{:a {} [1 2] #{}}": {Keyword(":a"): {}, (1, 2): frozenset()},
    "{{:a 1} #{{:b 2}}}": {Map({Keyword(":a"): 1}): frozenset({Map({Keyword(":b"): 2})})},
    "[1 #_ 2 3 #_ #_ 4 5 #_[6 #_7]]": (1, 3),
    "; hello\n [1 ; ]\n 2]": (1, 2),
    "#jepsen.history.Op{:index 0}": {Keyword(":index"): 0},
    "#foo #bar #_ 1 2": 2,
    '#inst "2020-01-02T03:04:05.678-00:00"': datetime(2020, 1, 2, 3, 4, 5, 678000, tzinfo=UTC),
    '#uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"': UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
    "^{:doc 1} ^:b ^String [1]": (1,),
    "#:n{:a 1, :_/b 2, :c/d 3, e 4, 5 6}": {
        Keyword(":n/a"): 1,
        Keyword(":b"): 2,
        Keyword(":c/d"): 3,
        Symbol("n/e"): 4,
        5: 6,
    },
    '#object[clojure.lang.Atom 0x1f "x"]': (Symbol("clojure.lang.Atom"), 31, "x"),
    r'#"a\d"': r"a\d",
    "#'a/b": Symbol("#'a/b"),
}


@pytest.mark.parametrize("text", FORMS)
def test_forms(text):
    found = read(text)
    assert found == FORMS[text]
    assert type(found) is type(FORMS[text]) or isinstance(found, Map)


def test_a_keyword_is_not_the_string_of_its_name():
    assert read('{:a 1, "a" 2}') == {Keyword(":a"): 1, "a": 2}
    assert read(":a") != read('"a"')


def test_lines_of_forms():
    assert [(form.value, form.line) for form in forms("1\n\n 2 ; x\n;y\n{:a\n3}", 10)] == [
        (1, 10),
        (2, 12),
        ({":a": 3}, 14),
    ]


FAULTS = {
    "[1\n 2}": (2, 3, "} stands where what [ began is not finished"),
    "\n ]": (2, 2, "] closes nothing"),
    "{:a}": (1, 4, "a map holds a key without a value"),
    "{:a 1 :a 2}": (1, 11, "a map holds a key twice"),
    "#{1 1}": (1, 6, "a set holds a member twice"),
    "[1a]": (1, 2, "1a is no number"),
    "[1/0]": (1, 2, "1/0 divides by zero"),
    '["\\q"]': (1, 2, "no such escape: \\q"),
    "[@a]": (1, 2, "'@a]' is no EDN"),
    "[: 1]": (1, 2, ": is no keyword"),
    "[#_]": (1, 4, "] stands where what #_ began is not finished"),
    "[#inst 5]": (1, 8, "#inst wants a string"),
}


@pytest.mark.parametrize("text", FAULTS)
def test_faults_are_named_with_line_and_column(text):
    with pytest.raises(EdnError) as caught:
        list(forms(text))
    error = caught.value
    assert (error.line, error.column, error.fault) == FAULTS[text]
    assert not error.incomplete


@pytest.mark.parametrize(
    "text", ["[1", "{:a", '"ab', "#{", "(1 [2]", "#_", "#foo", "[1 #", "[:", "[:a \\", "#inst", "^", "##"]
)
def test_text_that_more_text_could_mend(text):
    with pytest.raises(EdnError) as caught:
        list(forms(text))
    assert caught.value.incomplete


def test_forms_before_a_fault_are_given():
    found = forms("1 2 ]")
    assert [next(found).value, next(found).value] == [1, 2]
    with pytest.raises(EdnError):
        next(found)


def test_deep_nesting_needs_no_recursion():
    depth = 100_000
    value = read("[" * depth + "]" * depth)
    for _ in range(depth - 1):
        (value,) = value
    assert value == ()


def test_a_long_run_of_blanks_before_nonsense_is_no_trap():
    with pytest.raises(EdnError):
        list(forms(" " * 200_000 + "@"))
