"""The PFC watchdog of one port, after SONiC's pfcwd: a class that stays paused for the detection time is taken out of
PFC, and is put back when no PFC frame has come for the restoration time."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from switch_nodes.lossless.pauses import PauseState
from workloads.wire.pfc import PFC_CLASSES

__all__ = ["Watchdog", "WatchdogAction", "WatchdogKnobs"]


class WatchdogAction(StrEnum):
    DROP = "drop"
    FORWARD = "forward"
    ALERT = "alert"


@dataclass(frozen=True, slots=True)
class WatchdogKnobs:
    """Times in ns."""

    action: WatchdogAction
    detect_ns: int
    restore_ns: int
    poll_ns: int


class Watchdog:
    """Asked every `poll_ns`. It changes `PauseState.ignored` alone; the port asks `drops` about each frame."""

    def __init__(self, knobs: WatchdogKnobs, pauses: PauseState) -> None:
        self.knobs, self._pauses = knobs, pauses
        self._acting = [False] * PFC_CLASSES

    def is_acting(self, pfc_class: int) -> bool:
        return self._acting[pfc_class]

    def is_any(self) -> bool:
        """Whether it acts on any class."""
        return any(self._acting)

    def drops(self, pfc_class: int) -> bool:
        """Whether the port throws away what is of the class."""
        return self._acting[pfc_class] and self.knobs.action is WatchdogAction.DROP

    def poll(self, now: int) -> list[tuple[int, bool]]:
        """(class, whether the watchdog begins to act): what changed."""
        found, pauses = list[tuple[int, bool]](), self._pauses
        for pfc_class in range(PFC_CLASSES):
            if self._acting[pfc_class]:
                if now - pauses.heard_at[pfc_class] >= self.knobs.restore_ns:
                    found.append((pfc_class, False))
                continue
            since = pauses.paused_since(pfc_class, now)
            if since is not None and now - since >= self.knobs.detect_ns:
                found.append((pfc_class, True))
        for pfc_class, begins in found:
            self._acting[pfc_class] = begins
            pauses.ignored[pfc_class] = begins and self.knobs.action is not WatchdogAction.ALERT
        return found
