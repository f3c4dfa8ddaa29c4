"""A host sends PFC frames without end, as a broken NIC does: its switch must not send a class to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from testbed.faults.base import NodeFault
from testbed.faults.kind import FaultKind
from testbed.reading.fields import whole
from testbed.reading.sections import Key

__all__ = ["KIND", "PauseStorm"]


@dataclass(frozen=True, slots=True)
class PauseStorm(NodeFault):
    """The host pauses its switch again and again during the window."""

    pfc_class: Annotated[int, whole(0, 7), Key("class")] = 3
    """PFC class that it pauses"""


KIND = FaultKind(
    word="pause_storm",
    value=PauseStorm,
    meaning="a host pauses a class of its switch again and again (with `pfc`)",
    page="the host asks its switch to pause a class, again after each half of the pause time "
    "([lossless](lossless.md#watchdog)); only with `pfc`",
    healing="the host asks the switch to go on",
)
