"""GOAL text (group operation assembly language), as LogGOPSim and ATLAHS read it.

    num_ranks 2
    rank 0 {
      first: calc 1000
      out: send 4096b to 1 tag 7
      out requires first
    }
    rank 1 { recv 4096b from 0 tag 7 }

Rules (those of LogGOPSim's `txt2bin.re`; the last two are decided here)
- `calc N` takes N ns. Options follow in this order: tag, cpu, nic; each is 0 where it is missing. A receive may have
  tag -1, any tag, and rank -1, any rank.
- `b requires a`: b starts when a is over. `b irequires a`: when a has started. Labels precede their use.
- Comments are `// ...` and `/* ... */`. Ends of lines mean nothing.
- Computing on one cpu follows one another. Sends and receives take no time of a cpu.
- Hosts have one NIC: a `nic` other than 0 is refused.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace

from workloads.errors import ScenarioError
from workloads.traces.model import ANY, COMPUTE, RECV, SEND, JobTrace, TraceNode, refused

__all__ = ["MOST_NODES", "MOST_RANKS", "read_goal"]

MOST_RANKS, MOST_NODES = 1024, 1_000_000
"""of a trace"""
_MOST = (1 << 63) - 1
_TOKEN = re.compile(
    r"(//[^\n]*|/\*.*?\*/|\s+)|(-?[0-9]+b?(?![A-Za-z0-9_]))|([A-Za-z_][A-Za-z0-9_]*)|([{}:])", re.DOTALL
)
_NUMBER = re.compile(r"-?[0-9]{1,19}\Z", re.ASCII)
_SIZE = re.compile(r"[0-9]{1,19}b\Z", re.ASCII)
_OPERATIONS = ("calc", "send", "recv")
_WAITS = ("requires", "irequires")
_RESERVED = frozenset(("num_ranks", "rank", "to", "from", "tag", "cpu", "nic", *_WAITS))
"""words that are no labels"""


def read_goal(text: str, file: str) -> JobTrace:
    """`file`: what messages call it. Raises ScenarioError with file, line and what is allowed."""
    return _Reader(text, file).trace()


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    line: int


class _Reader:
    def __init__(self, text: str, file: str) -> None:
        self._file = file
        self._ends = [found.start() for found in re.finditer("\n", text)]
        self._tokens = self._split(text)
        self._next = next(self._tokens, None)
        self._last_line = 1
        self._count = 0

    def trace(self) -> JobTrace:
        self._word("num_ranks")
        number = self._whole(1, MOST_RANKS, "the number of ranks")
        ranks: dict[int, tuple[TraceNode, ...]] = {}
        while self._next is not None:
            self._word("rank")
            line = self._last_line
            rank = self._whole(0, number - 1, "a rank")
            if rank in ranks:
                raise self._error("this rank has a block already", line, str(rank), "one block for each rank")
            ranks[rank] = self._block(rank, number)
        return JobTrace(self._file, tuple(ranks.get(rank, ()) for rank in range(number)))

    def _block(self, rank: int, ranks: int) -> tuple[TraceNode, ...]:
        self._word("{")
        nodes: list[TraceNode] = []
        labels: dict[str, int] = {}
        after = dict[str, dict[int, list[int]]]((word, {}) for word in _WAITS)
        while True:
            token = self._take(f"{', '.join(_OPERATIONS)}, a label, or }}")
            if token.text == "}":
                break
            if token.text in _OPERATIONS:
                nodes.append(self._operation(token, rank, ranks, len(nodes) + 1, ""))
                continue
            if not token.text.isidentifier() or token.text in _RESERVED:
                raise self._unexpected(token, f"{', '.join(_OPERATIONS)}, a label, or }}")
            word = self._take(f": or {', '.join(_WAITS)} after a label")
            if word.text == ":":
                if token.text in labels:
                    raise self._error("this label is taken", token.line, token.text, "another label in this rank")
                labels[token.text] = len(nodes)
                operation = self._take(", ".join(_OPERATIONS))
                if operation.text not in _OPERATIONS:
                    raise self._unexpected(operation, ", ".join(_OPERATIONS))
                nodes.append(self._operation(operation, rank, ranks, len(nodes) + 1, token.text))
            elif word.text in _WAITS:
                other = self._take("a label")
                after[word.text].setdefault(self._label(labels, token), []).append(self._label(labels, other))
            else:
                raise self._unexpected(word, f": or {', '.join(_WAITS)} after a label")
        return tuple(
            replace(
                node,
                after=tuple(dict.fromkeys(after["requires"].get(place, ()))),
                after_start=tuple(dict.fromkeys(after["irequires"].get(place, ()))),
            )
            for place, node in enumerate(nodes)
        )

    def _operation(self, token: _Token, rank: int, ranks: int, number: int, name: str) -> TraceNode:
        self._count += 1
        if self._count > MOST_NODES:
            raise self._error("too many operations", token.line, f"more than {MOST_NODES}", f"at most {MOST_NODES}")
        if token.text == "calc":
            takes = self._whole(0, _MOST, "a duration in ns")
            node = TraceNode(number, name, COMPUTE, compute_ns=takes, line=token.line)
            return replace(node, lane=self._option("cpu", 0))
        size = self._size()
        self._word("to" if token.text == "send" else "from")
        peer = self._whole(0 if token.text == "send" else ANY, ranks - 1, "a rank")
        tag = self._option("tag", 0 if token.text == "send" else ANY)
        self._option("cpu", 0)
        nic = self._option("nic", 0)
        kind = SEND if token.text == "send" else RECV
        node = TraceNode(number, name, kind, bytes=size, peer=peer, tag=tag, line=token.line)
        if nic:
            raise refused(self._file, rank, node, "hosts have one NIC", found=f"nic {nic}", allowed="nic 0")
        if peer == rank:
            raise refused(
                self._file, rank, node, "a rank does not talk to itself", found=str(peer), allowed="another rank"
            )
        return node

    def _option(self, word: str, least: int) -> int:
        if self._next is None or self._next.text != word:
            return 0
        self._take(word)
        return self._whole(least, (1 << 31) - 1, f"a number for {word}")

    def _size(self) -> int:
        token = self._take("a size in bytes, as 4096b")
        if not _SIZE.match(token.text) or int(token.text[:-1]) > _MOST:
            raise self._unexpected(token, "a size in bytes, as 4096b")
        return int(token.text[:-1])

    def _whole(self, least: int, most: int, what: str) -> int:
        allowed = f"{what}, {least} to {most}"
        token = self._take(allowed)
        if not _NUMBER.match(token.text) or not least <= int(token.text) <= most:
            raise self._unexpected(token, allowed)
        return int(token.text)

    def _label(self, labels: dict[str, int], token: _Token) -> int:
        if token.text not in labels:
            raise self._error("no such label before this line", token.line, token.text, "a label of this rank")
        return labels[token.text]

    def _word(self, word: str) -> None:
        token = self._take(word)
        if token.text != word:
            raise self._unexpected(token, word)

    def _take(self, allowed: str) -> _Token:
        token = self._next
        if token is None:
            raise self._error("the text ends too early", self._last_line, "the end of the file", allowed)
        self._next = next(self._tokens, None)
        self._last_line = token.line
        return token

    def _unexpected(self, token: _Token, allowed: str) -> ScenarioError:
        return self._error("not what GOAL has here", token.line, token.text, allowed)

    def _error(self, problem: str, line: int, found: str, allowed: str) -> ScenarioError:
        return ScenarioError(problem, file=self._file, line=line, found=found[:40], allowed=allowed)

    def _split(self, text: str) -> Iterator[_Token]:
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            line = bisect_left(self._ends, at) + 1
            if found is None:
                raise self._error("no part of GOAL", line, repr(text[at : at + 10]), "words, numbers, { } and :")
            if found[1] is None:
                yield _Token(found[0], line)
            at = found.end()
