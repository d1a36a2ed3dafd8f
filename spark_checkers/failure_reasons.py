"""What Spark says when something ends badly, as one line. Pure; does not guess where nothing is said."""

import re


def cause(text: str) -> str:
    """The line that matters of a stack of two languages, or what to do about it where that is known."""
    versions = re.search(r"different version: (\S+) than that in driver: ([\d.]*\d)", text)
    if versions is not None:
        here, there = versions[2], versions[1]
        return f"they run Python {there} and this is {here}; PYSPARK_PYTHON names the one that they are to run"
    program = re.search(r'Cannot run program "([^"]+)"', text)
    if program is not None:
        return f"they have no program {program[1]}; PYSPARK_PYTHON names the Python that they are to run"
    lines = [line.strip() for line in text.splitlines()]
    raised = [line for line in lines if re.match(r"[A-Za-z_.]*(Error|Exception)\b", line) and "Py4J" not in line]
    return next(iter(raised[-1:] or [line for line in lines if line][:1]), "no reason given")[:300]


def last_words(chatter: str) -> str:
    """What a JVM that did not come up says of it: its first error, else the last line that is no part of a stack."""
    error = re.search(r" ERROR \S+: (.+)", chatter)
    if error is not None:
        return error[1].strip().rstrip(".")
    lines = [line for line in map(str.strip, chatter.splitlines()) if line and not line.startswith(("at ", "... "))]
    return lines[-1] if lines else ""
