"""The rules for docstrings and messages of the product, as a command:
`python -m tests.support.prose_of_code docstrings|messages [FOLDER...]` prints what breaks them.

A message is a text with a space that is no docstring; what an f-string puts in counts as one word, and so does code
between backquotes. Targets of links are no words.
"""

from __future__ import annotations

import ast
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.prose import Breach, count_words, phrases_in, split_sentences

__all__ = ["FOLDERS", "LONGEST_MESSAGE", "breaches_of_docstrings", "breaches_of_messages"]

FOLDERS = ("testbed", "workloads", "switch_nodes", "topologies")
LONGEST_MESSAGE = 25
"""words of a sentence of a message"""
_NO_NOUN = re.compile(r"(that|of which|whose)\b")
_CODE, _TARGET = re.compile(r"`[^`]*`"), re.compile(r"(?<=\])\([^)]*\)")


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


def breaches_of_messages(source: str) -> Iterator[Breach]:
    for line, text in _messages(ast.parse(source)):
        for sentence in split_sentences(_plain(text)):
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
            texts = _messages(tree) if what == "messages" else ((0, str(value.value)) for value, _ in _docstrings(tree))
            lengths += [count_words(each) for _, text in texts for each in split_sentences(_plain(text))]
            for breach in (breaches_of_messages if what == "messages" else breaches_of_docstrings)(source):
                count += 1
                print(f"{path}:{breach.line}: {breach.rule}: {breach.sentence[:200]}")
    longer = sum(length > 30 for length in lengths)
    print(
        f"{count} breaches; {len(lengths)} sentences, median {statistics.median(lengths):.0f} words, {longer} over 30"
    )
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
