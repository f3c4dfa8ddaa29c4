"""The rules for sentences of pages, as a command: `python -m tests.support.prose [PAGE...]` prints what breaks them.

Code, in a line or as a block, is one word; a table's cells, a heading and an item of a list end a sentence.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

__all__ = [
    "LONGEST", "PHRASES", "Breach", "breaches_of", "count_words", "phrases_in", "sentences_of", "split_sentences",
]  # fmt: skip

LONGEST = 30
"""words of a sentence of a page"""
PHRASES = (
    r"tells", r"told", r"anew", r"once more", r"beside", r"nobody", r"whoever", r"whom", r"struck",
    r"strikes?", r"twins?", r"kept up", r"keeps? up", r"is due", r"(is|are) owed", r"owes?", r"by right", r"in vain",
    r"le(ave|aves|aving|ft) \w+ (away|out)", r"for want of", r"as ever", r"in its place", r"of which",
)  # fmt: skip
_PHRASES = re.compile(rf"\b({'|'.join(PHRASES)})\b", re.IGNORECASE)
_NO_END = re.compile(r"\b(e\.g|i\.e|vs|cf|etc|fig|sec|no|al|approx)\.$", re.IGNORECASE)
_END = re.compile(r"(?<=[.!?])[)\"'*_]*\s+(?=[\"'(*_]*[A-Z0-9`])")
_WORD = re.compile(r"\w[\w'.,/:+-]*")


@dataclass(frozen=True)
class Breach:
    line: int
    rule: str
    sentence: str


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Line and plain words of each paragraph, heading and cell."""
    line = 1
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(text):
        if token.map:
            line = token.map[0] + 1
        if token.type == "inline":
            words = []
            for part in token.children or ():
                if part.type == "code_inline":
                    words.append("CODE")
                elif part.type in ("softbreak", "hardbreak"):
                    words.append(" ")
                elif part.type == "text":
                    words.append(part.content)
            yield line, "".join(words).strip()


def split_sentences(text: str) -> Iterator[str]:
    kept = ""
    for part in _END.split(text):
        kept = f"{kept} {part}".strip()
        if not _NO_END.search(kept):
            yield kept
            kept = ""
    if kept:
        yield kept


def sentences_of(text: str) -> Iterator[tuple[int, str]]:
    """Line of its paragraph, and each sentence of a page in Markdown."""
    for line, block in _blocks(text):
        for sentence in split_sentences(block):
            yield line, sentence


def phrases_in(text: str) -> Iterator[str]:
    for found in _PHRASES.finditer(text):
        yield found.group(0)


def count_words(sentence: str) -> int:
    return len(_WORD.findall(sentence))


def breaches_of(text: str, longest: int = LONGEST) -> Iterator[Breach]:
    for line, sentence in sentences_of(text):
        words = count_words(sentence)
        if words > longest:
            yield Breach(line, f"{words} words, at most {longest}", sentence)
        for phrase in phrases_in(sentence):
            yield Breach(line, f"phrase {phrase!r}", sentence)


def main() -> int:
    pages = [Path(name) for name in sys.argv[1:]] or [Path("README.md"), *sorted(Path("docs").glob("*.md"))]
    lengths: list[int] = []
    total = long = phrases = 0
    for page in pages:
        text = page.read_text(encoding="utf-8")
        total += len(text.split())
        lengths += [count_words(sentence) for _, sentence in sentences_of(text)]
        for breach in breaches_of(text):
            long += breach.rule[0].isdigit()
            phrases += not breach.rule[0].isdigit()
            print(f"{page}:{breach.line}: {breach.rule}: {breach.sentence}")
    print(
        f"{total} words (wc -w), {len(lengths)} sentences, median {statistics.median(lengths or [0]):.0f} words, "
        f"{long} too long, {phrases} phrases"
    )
    return 1 if long or phrases else 0


if __name__ == "__main__":
    sys.exit(main())
