"""Collectives and ranks in words, for messages about a training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workloads.ranks.wire import Post

__all__ = ["describe", "difference", "ranks_of", "wait_for"]

_SHOWN = 8


def describe(post: Post) -> str:
    """For a person: `all_reduce of 1,000 float32 (sum)`."""
    size = post.shape or ("" if post.elements < 0 else f"{post.elements:,}")
    of = f" of {size} {post.dtype}".replace("  ", " ") if post.dtype else ""
    text = f"{post.what}{of}" + (f" ({post.op})" if post.op else "")
    if post.root >= 0:
        text += f" {'from' if post.what in ('broadcast', 'scatter') else 'to'} rank {post.root}"
    if post.what in ("send", "recv"):
        peer = f"rank {post.peer}" if post.peer >= 0 else "any rank"
        text += f" {'to' if post.what == 'send' else 'from'} {peer}" + (f" with tag {post.tag}" if post.tag else "")
    if post.gives or post.takes:
        text += f", {_list(post.gives)} elements out and {_list(post.takes)} in"
    return text


def difference(posts: Mapping[int, Post]) -> str:
    """In what the posts of a group's ranks differ; empty: in nothing that matters."""
    kinds: dict[tuple[object, ...], list[int]] = {}
    for rank, post in posts.items():
        wired = None if post.wired is None or post.wired.operation == "swap" else post.wired
        key = (post.what, post.dtype, post.op, post.elements, post.in_network, post.shape, post.root, wired)
        kinds.setdefault(key, []).append(rank)
    if len(kinds) > 1:
        return "; ".join(f"{ranks_of(ranks)} posted {describe(posts[ranks[0]])}" for ranks in kinds.values())
    members = list(posts)
    for place, rank in enumerate(members):
        for other_place, other in enumerate(members):
            gives, takes = posts[rank].gives, posts[other].takes
            if (gives or takes) and gives[other_place : other_place + 1] != takes[place : place + 1]:
                pair = sorted({rank, other})
                return "; ".join(f"rank {member} posted {describe(posts[member])}" for member in pair)
    return _words_differ(posts)


def _words_differ(posts: Mapping[int, Post]) -> str:
    """Where the words of a swap do not fit each other, though what the ranks posted does. Only a faulty rank causes
    that."""
    wires = [post.wired for post in posts.values() if post.wired is not None and post.wired.operation == "swap"]
    given, taken = ([getattr(wire, name) for wire in wires] for name in ("gives", "takes"))
    if all(len(row) == len(posts) for row in (*given, *taken)) and list(zip(*given, strict=True)) == taken:
        return ""
    return f"words that {ranks_of(list(posts))} give and take do not fit" if wires else ""


def ranks_of(ranks: Sequence[int]) -> str:
    names = ", ".join(map(str, ranks[:_SHOWN])) + (f" and {len(ranks) - _SHOWN} more" if len(ranks) > _SHOWN else "")
    return f"rank{'' if len(ranks) == 1 else 's'} {names}"


def wait_for(ranks: Sequence[int]) -> str:
    """`rank 0 waits`, as the end of a sentence."""
    return f"{ranks_of(ranks)} {'waits' if len(ranks) == 1 else 'wait'}"


def _list(numbers: Sequence[int]) -> str:
    return f"[{', '.join(map(str, numbers))}]"
