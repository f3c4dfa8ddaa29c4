"""The rules for docstrings and messages of the product, as a command:
`python -m tests.support.prose_of_code docstrings|messages [FOLDER...]` prints what breaks them.

A message is a text with a space that is no docstring; what an f-string puts in counts as one word, and so does code
between backquotes. Targets of links are no words. A tag of HTML, an empty line and an indented line (an item or an
example) end a sentence of a message.
"""

from __future__ import annotations

import ast
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.prose import Breach, count_words, phrases_in, split_sentences

__all__ = ["EXCEPTIONS", "FOLDERS", "LONGEST_MESSAGE", "breaches_of_docstrings", "breaches_of_messages"]

FOLDERS = ("testbed", "workloads", "switch_nodes", "topologies")
LONGEST_MESSAGE = 25
"""words of a sentence of a message"""
EXCEPTIONS = (
    ("testbed/bench/peers/openmpi.py", "#!/bin/sh"),
    ("testbed/captures/dissector.py", "local opcode, qp"),
    ("testbed/cli/running.py", "--no-twin"),
    ("testbed/comparison/text.py", "body{font"),
    ("testbed/drawing/svg.py", ".topo text{"),
    ("testbed/lab/emulated/host.py", "ListenAddress"),
    ("testbed/sweeps/plots/script.py", "HERE = Path("),
    ("testbed/report/junit.py", "deviation from the twin in virtual time"),
    ("testbed/sweeps/matrix.py", "body{font"),
)
"""Path of a file, and a part of a message there that may break the rules: code of another language, or a literal key"""
_NO_NOUN = re.compile(r"(that|of which|whose)\b")
_CODE, _TARGET = re.compile(r"`[^`]*`"), re.compile(r"(?<=\])\([^)]*\)")
_APART = re.compile(r"<[^<>]+>|\n\s*\n|\n(?=  )")


def _docstrings(tree: ast.Module) -> Iterator[tuple[ast.Constant, bool]]:
    """Each docstring, and whether it is one of a field."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for number, statement in enumerate(body if isinstance(body, list) else ()):
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value, number > 0 and isinstance(body[number - 1], (ast.Assign, ast.AnnAssign))


def _messages(tree: ast.Module) -> Iterator[tuple[int, str]]:
    parts = {id(value) for value, _ in _docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts.update(id(value) for value in node.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(each.value) if isinstance(each, ast.Constant) else "X" for each in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            text = node.value
        else:
            continue
        if " " in text.strip():
            yield node.lineno, text


def _plain(text: str) -> str:
    return _TARGET.sub("", _CODE.sub("CODE", " ".join(text.split())))


def breaches_of_docstrings(source: str) -> Iterator[Breach]:
    for value, is_field in _docstrings(ast.parse(source)):
        text = str(value.value)
        if is_field and _NO_NOUN.match(text):
            yield Breach(value.lineno, "begins with no noun", text)
        for phrase in phrases_in(_plain(text)):
            yield Breach(value.lineno, f"phrase {phrase!r}", " ".join(text.split()))


def _sentences_of_message(text: str) -> Iterator[str]:
    for part in _APART.split(text):
        yield from split_sentences(_plain(part))


def breaches_of_messages(source: str, path: str = "") -> Iterator[Breach]:
    """`path`: of the source, for EXCEPTIONS."""
    allowed = tuple(part for name, part in EXCEPTIONS if name == path)
    for line, text in _messages(ast.parse(source)):
        if any(part in text for part in allowed):
            continue
        for sentence in _sentences_of_message(text):
            if (words := count_words(sentence)) > LONGEST_MESSAGE:
                yield Breach(line, f"{words} words, at most {LONGEST_MESSAGE}", sentence)
            for phrase in phrases_in(sentence):
                yield Breach(line, f"phrase {phrase!r}", sentence)


def main() -> int:
    what, *folders = sys.argv[1:]
    count, lengths = 0, []
    for top in folders or FOLDERS:
        for path in sorted([Path(top)] if top.endswith(".py") else Path(top).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            tree = ast.parse(source)
            if what == "messages":
                lengths += [count_words(each) for _, text in _messages(tree) for each in _sentences_of_message(text)]
                breaches = breaches_of_messages(source, str(path))
            else:
                texts = (str(value.value) for value, _ in _docstrings(tree))
                lengths += [count_words(each) for text in texts for each in split_sentences(_plain(text))]
                breaches = breaches_of_docstrings(source)
            for breach in breaches:
                count += 1
                print(f"{path}:{breach.line}: {breach.rule}: {breach.sentence[:200]}")
    longer = sum(length > 30 for length in lengths)
    print(
        f"{count} breaches; {len(lengths)} sentences, median {statistics.median(lengths):.0f} words, {longer} over 30"
    )
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
