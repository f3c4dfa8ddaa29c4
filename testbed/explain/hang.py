"""The collective that a hanging training waits for, from the dumps of its ranks' flight recorders.

Rules of this file
- The ranks of a process group post the same collectives in the same order, each with the next number.
- The first collective of a group that some rank has not completed is the one that hangs. Members that have not posted
  it are waited for.
- If all members have posted it and their posts differ, the ranks of the rarest kind are named.
- A send hangs if its peer has no open recv for it, and a recv if its peer has no open send.
- A rank that left no dump has posted nothing that is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from testbed.explain.contract import NodeWait
from testbed.explain.graph import circle_in, ends_of
from workloads.traces.flight import COMPLETED, SCHEDULED, FlightDump, FlightOp

__all__ = ["Hang", "HungCall", "find_hang"]

_WHOLE = "default_pg"
"""description of the group of all ranks"""
_UNEQUAL = ("all_to_all", "gather", "scatter", "all_to_all_single", "broadcast")
"""collectives whose ranks may have inputs of different sizes"""


@dataclass(frozen=True, slots=True)
class HungCall:
    """A collective, send or recv that did not complete."""

    text: str
    """as `collective 3 of group 0 (default_pg), all_reduce of 4 x 5 Float`"""
    waiting: tuple[int, ...]
    """ranks that posted it and did not complete it"""
    missing: tuple[int, ...]
    """ranks that did not post it, or posted something else"""
    differs: str = ""
    """what ranks posted instead of each other; empty: they posted the same"""
    late: tuple[int, ...] = ()
    """ranks that posted it, and did not start it while others did"""


@dataclass(frozen=True, slots=True)
class Hang:
    dumps: tuple[int, ...]
    """ranks that left a dump"""
    lost: tuple[int, ...]
    """members of groups without a dump"""
    calls: tuple[HungCall, ...]
    """empty: all that was posted is complete"""
    waits: tuple[NodeWait, ...]
    circle: tuple[NodeWait, ...]
    ends: tuple[str, ...]
    """ranks that all others wait for in the end"""
    newest: dict[int, str]
    """what each rank posted last"""


_Group = tuple[str, str, tuple[int, ...]]
"""(name, description, ranks)"""


def find_hang(dumps: Sequence[FlightDump]) -> Hang:
    by_rank = {dump.rank: dump for dump in dumps}
    groups = list(_groups(dumps))
    calls = [call for group in groups if (call := _hung_collective(group, by_rank)) is not None]
    calls += [call for group in groups for call in _hung_mail(group, by_rank)]
    waits = tuple(
        NodeWait(_name(rank), call.text, _name(other))
        for call in calls
        for rank in call.waiting
        for other in (*call.missing, *call.late)
        if other != rank
    )
    stalled = list(dict.fromkeys(wait.node for wait in waits))
    return Hang(
        tuple(sorted(by_rank)),
        tuple(sorted({rank for _, _, ranks in groups for rank in ranks} - set(by_rank))),
        tuple(calls),
        waits,
        tuple(circle_in(waits, stalled)),
        tuple(ends_of(waits, stalled)),
        {dump.rank: _newest(dump) for dump in dumps},
    )


def _groups(dumps: Sequence[FlightDump]) -> Iterator[_Group]:
    """Where no dump has the ranks of a group: all, of the group of all ranks; else those that know it."""
    known: dict[str, list[int]] = {}
    listed: dict[tuple[str, tuple[int, ...]], str] = {}
    descriptions: dict[str, str] = {}
    for dump in dumps:
        for group in dump.groups.values():
            descriptions[group.name] = descriptions.get(group.name) or group.description
            if group.ranks:
                listed.setdefault((group.name, group.ranks), group.description)
            else:
                known.setdefault(group.name, []).append(dump.rank)
    yield from ((name, description, ranks) for (name, ranks), description in listed.items())
    named = {name for name, _ in listed}
    for name, ranks in known.items():
        if name not in named:
            everybody = tuple(dump.rank for dump in dumps)
            yield name, descriptions[name], everybody if descriptions[name] == _WHOLE else tuple(ranks)


def _hung_collective(group: _Group, by_rank: dict[int, FlightDump]) -> HungCall | None:
    name, _, ranks = group
    posted: dict[int, dict[int, FlightOp]] = {rank: {} for rank in ranks}
    last = dict.fromkeys(ranks, 0)
    done = dict.fromkeys(ranks, 0)
    for rank in ranks:
        if rank not in by_rank:
            continue
        for op in by_rank[rank].ops:
            if op.group == name and not op.is_mail:
                posted[rank].setdefault(op.number, op)
        status = by_rank[rank].groups.get(name)
        last[rank] = max((0 if status is None else status.posted, *posted[rank]))
        done[rank] = 0 if status is None else status.completed
    open_ones = {
        rank: sorted(n for n, op in ops.items() if op.state != COMPLETED and n > done[rank])
        for rank, ops in posted.items()
    }
    number = min((numbers[0] for numbers in open_ones.values() if numbers), default=None)
    if number is None:
        return None
    waiting = tuple(rank for rank in ranks if number in open_ones[rank])
    missing = tuple(rank for rank in ranks if last[rank] < number)
    posts = {rank: posted[rank][number] for rank in ranks if number in posted[rank]}
    differs, odd = _difference(posts)
    late: tuple[int, ...] = ()
    if not missing and not differs:
        late = tuple(rank for rank in waiting if posts[rank].state == SCHEDULED)
        late = late if len(late) < len(posts) else ()
    text = f"collective {number} of {_group_text(group)}, {_describe(posts[waiting[0]])}"
    return HungCall(text, waiting, missing or odd, differs, late)


def _difference(posts: dict[int, FlightOp]) -> tuple[str, tuple[int, ...]]:
    """(what ranks posted, those of the rarest kind); empty: they posted the same."""
    kinds: dict[tuple[object, ...], list[int]] = {}
    for rank, op in posts.items():
        sizes = () if op.what in _UNEQUAL else op.sizes
        kinds.setdefault((op.what, sizes, op.dtypes), []).append(rank)
    if len(kinds) < 2:
        return "", ()
    text = "; ".join(f"{_ranks(ranks)} posted {_describe(posts[ranks[0]])}" for ranks in kinds.values())
    fewest = min(kinds.values(), key=len)
    alone = len([ranks for ranks in kinds.values() if len(ranks) == len(fewest)]) == 1
    return text, tuple(fewest) if alone else tuple(sorted(posts))


def _hung_mail(group: _Group, by_rank: dict[int, FlightDump]) -> Iterator[HungCall]:
    """Sends and recvs whose peer has none open for them."""
    name, _, ranks = group
    members = sorted(ranks)
    mail: dict[tuple[int, str, int], list[FlightOp]] = {}
    for rank in members:
        for op in by_rank[rank].ops if rank in by_rank else ():
            if op.group == name and op.is_mail and op.state != COMPLETED and 0 <= op.peer < len(members):
                mail.setdefault((rank, op.what, members[op.peer]), []).append(op)
    for (rank, what, peer), ops in mail.items():
        other = "recv" if what == "send" else "send"
        if not mail.get((peer, other, rank)):
            yield HungCall(f"a {other} for the {_describe(ops[0])} of {_group_text(group)}", (rank,), (peer,))


def _newest(dump: FlightDump) -> str:
    if not dump.ops:
        return "nothing"
    op = max(dump.ops, key=lambda each: each.posted_ns)
    at = f", at {op.place}" if op.place else ""
    return f"{'' if op.is_mail else f'collective {op.number}, '}{_describe(op)} ({op.state}{at})"


def _describe(op: FlightOp) -> str:
    shapes = ", ".join(" x ".join(map(str, shape)) or "1" for shape in op.sizes)
    of = f" of {shapes} {', '.join(dict.fromkeys(op.dtypes))}".rstrip() if op.sizes else ""
    return op.what + of


def _group_text(group: _Group) -> str:
    name, description, _ = group
    return f"group {name} ({description})" if description not in ("", "undefined") else f"group {name}"


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank{'' if len(ranks) == 1 else 's'} {', '.join(map(str, ranks))}"


def _name(rank: int) -> str:
    return f"rank {rank}"
