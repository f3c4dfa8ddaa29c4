"""Everything on a link is lost for a while, once or several times (a flap)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from testbed.faults.base import Match, PacketFault, Window
from testbed.faults.copies import Copies, Copy, Seen
from testbed.faults.kind import Dice, Drawn, FaultKind
from testbed.reading.fields import DurationKey, whole
from testbed.reading.sections import NO_KEY

__all__ = ["KIND", "LinkDown", "draw_link_down"]


@dataclass(frozen=True, slots=True)
class LinkDown(PacketFault):
    """Everything on the link is lost during the window, `count` times with `period_ns` from start to start (flap)."""

    match: Annotated[Match, NO_KEY] = Match()
    rate: Annotated[float, NO_KEY] = 1.0
    count: Annotated[int, whole(1, 10_000)] = 1
    """how often the link goes down"""
    period_ns: DurationKey = 0
    """from start to start, where it goes down more than once (a flap)"""


def _act(_fault: LinkDown, _stream: int, _seen: Seen, _copy: Copy, _: int) -> Copies:
    return ()


def draw_link_down(dice: Dice, name: str) -> LinkDown:
    links, directions = dice.where()
    window, count = dice.window(), dice.draw.choice((1, 1, 2, 4))
    assert window.stop_ns is not None
    if count == 1:
        return LinkDown(name, links, directions, window)
    length = max(1, (window.stop_ns - window.start_ns) // (2 * count))
    period = length + dice.draw.randint(1, max(1, length))
    return LinkDown(
        name, links, directions, Window(window.start_ns, window.start_ns + length), count=count, period_ns=period
    )


KIND = FaultKind(
    word="link_down",
    value=LinkDown,
    meaning="everything on the link is lost for a while; repeated: a flap",
    page="everything on the link is lost from `from` to `until`",
    healing="the link carries frames again; RC resends what was lost",
    act=_act,
    native=9,
    rule=lambda fault: {"flaps": fault.count, "period_ns": fault.period_ns},
    why_not_in_kernel=lambda fault: None,
    one_figure=True,
    takes_away=True,
    drawn=Drawn(draw_link_down, roce=6, datagrams=6, grid=5, once=True),
)
