"""YAML whose every word has a line, so that an error can name it.

Only composed YAML knows its lines, so files are walked as nodes: a key that stands twice is refused, a key that nobody
knows is refused with a guess, and a value of the wrong type is refused where it stands.
"""

import difflib
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from chaos.core.errors import UsageError

_WORDS: Final = {
    "tag:yaml.org,2002:str": "text",
    "tag:yaml.org,2002:int": "a whole number",
    "tag:yaml.org,2002:float": "a number",
    "tag:yaml.org,2002:bool": "true or false",
    "tag:yaml.org,2002:null": "nothing",
    "tag:yaml.org,2002:map": "a mapping",
    "tag:yaml.org,2002:seq": "a list",
    "tag:yaml.org,2002:timestamp": "a date",
}


class Entry(msgspec.Struct, frozen=True):
    """One key of a mapping with its value; ``where`` is ``FILE:LINE`` of the key."""

    key: str
    where: str
    value: yaml.Node


class Source(msgspec.Struct, frozen=True):
    """A YAML file as nodes. ``file`` is its name as it was given, for messages and origins."""

    file: str
    root: yaml.Node | None

    def where(self, node: yaml.Node) -> str:
        """``FILE:LINE`` of a node."""
        return f"{self.file}:{node.start_mark.line + 1}"

    def wrong(self, node: yaml.Node, what: str, wanted: str) -> UsageError:
        """The error for a value of the wrong type: where it stands, what is wanted and what is there."""
        return UsageError(f"{self.where(node)}: {what} must be {wanted}, not {show(node)}")

    def entries(self, node: yaml.Node | None, what: str) -> tuple[Entry, ...]:
        """The keys and values of a mapping, in the file's order.

        Raises:
            UsageError: it is no mapping, a key is no text, or a key stands twice.
        """
        if not isinstance(node, yaml.MappingNode):
            if node is None:
                raise UsageError(f"{self.file}: it is empty; write `key: value` lines")
            raise self.wrong(node, what, "a mapping of `key: value` lines")
        seen: dict[str, str] = {}
        found = []
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self.wrong(key, "a key", "text")
            where = self.where(key)
            if key.value in seen:
                raise UsageError(f"{where}: {key.value} stands in {seen[key.value]} already; keep one of them")
            seen[key.value] = where
            found.append(Entry(key.value, where, value))
        return tuple(found)

    def items(self, node: yaml.Node, what: str) -> tuple[yaml.Node, ...]:
        """The members of a list.

        Raises:
            UsageError: it is no list.
        """
        if not isinstance(node, yaml.SequenceNode):
            raise self.wrong(node, what, "a list")
        return tuple(node.value)

    def text(self, node: yaml.Node, what: str) -> str:
        """A scalar as it is written, numbers and truth values as well; null is refused."""
        if not isinstance(node, yaml.ScalarNode) or word(node) == "nothing":
            raise self.wrong(node, what, "one word")
        return str(node.value)

    def scalar(self, node: yaml.Node, what: str, kind: type) -> Any:
        """A scalar of a Python type: str (numbers as they are written), int, float (any number) or bool.

        Raises:
            UsageError: another type stands there.
        """
        tag = word(node)
        if kind is str and tag in ("text", "a whole number", "a number", "a date"):
            return self.text(node, what)
        if kind is bool and tag == "true or false":
            return str(node.value).lower() in ("true", "yes", "on")
        if (kind is int and tag == "a whole number") or (kind is float and tag in ("a whole number", "a number")):
            try:
                return kind(node.value.replace("_", ""))
            except ValueError:  # YAML's other notations, as 0x10 and 1:30
                raise self.wrong(node, what, "a plain decimal number") from None
        wanted = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}[kind]
        raise self.wrong(node, what, wanted)


def word(node: yaml.Node) -> str:
    """What kind of value a node is, in words."""
    return _WORDS.get(node.tag, node.tag)


def show(node: yaml.Node) -> str:
    """A value for an error line: itself if it is short and plain, else its kind."""
    if isinstance(node, yaml.ScalarNode) and node.value:
        return f"{node.value!r}"
    return word(node)


def unknown_key_error(entry: Entry, known: Collection[str], hint: str = "") -> UsageError:
    """The error for a key that nobody knows, with the nearest known one."""
    near = difflib.get_close_matches(entry.key, sorted(known), n=1)
    guess = f"did you mean {near[0]}?" if near else hint or f"known: {', '.join(sorted(known))}"
    return UsageError(f"{entry.where}: unknown key {entry.key!r}; {guess}")


def read(path: Path, option: str) -> Source:
    """A file as nodes.

    Args:
        path: the file.
        option: what named it on the command line, for the message.

    Raises:
        UsageError: it cannot be read, is no YAML or holds several documents.
    """
    try:
        content = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise UsageError(f"{option} {path}: {reason}; name a YAML file") from None
    return parse(content, str(path))


def parse(content: str, file: str) -> Source:
    """Pure: what ``read`` gives for a file's content."""
    try:
        return Source(file, yaml.compose(content, Loader=yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise UsageError(f"{file}{line}: not YAML: {getattr(error, 'problem', None) or error}") from None
