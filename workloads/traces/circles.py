"""Dependencies without the circles that control dependencies make."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["without_circles"]


def without_circles(data: Sequence[Sequence[int]], control: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """By node, the nodes that must be over before it. A control dependency is left out where the node that it names
    waits for this one, directly or through others. Circles of data dependencies stay."""
    groups = _circles([[*own, *more] for own, more in zip(data, control, strict=True)])
    return [
        tuple(dict.fromkeys([*own, *(other for other in more if groups[other] != groups[node])]))
        for node, (own, more) in enumerate(zip(data, control, strict=True))
    ]


def _circles(after: Sequence[Sequence[int]]) -> list[int]:
    """By node, a number that it shares with the nodes that wait for it and that it waits for (strongly connected
    components: Tarjan 1972, without recursion)."""
    index, low = [-1] * len(after), [0] * len(after)
    found, stack, on_stack = [-1] * len(after), list[int](), [False] * len(after)
    counted = 0
    for root in range(len(after)):
        if index[root] >= 0:
            continue
        calls = [(root, iter(after[root]))]
        index[root] = low[root] = counted
        counted += 1
        stack.append(root)
        on_stack[root] = True
        while calls:
            node, others = calls[-1]
            other = next(others, None)
            if other is None:
                calls.pop()
                if calls:
                    low[calls[-1][0]] = min(low[calls[-1][0]], low[node])
                if low[node] == index[node]:
                    while found[node] < 0:
                        member = stack.pop()
                        on_stack[member], found[member] = False, node
            elif index[other] < 0:
                index[other] = low[other] = counted
                counted += 1
                stack.append(other)
                on_stack[other] = True
                calls.append((other, iter(after[other])))
            elif on_stack[other]:
                low[node] = min(low[node], index[other])
    return found
