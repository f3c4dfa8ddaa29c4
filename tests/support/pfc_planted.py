"""Planted bugs of PFC, and a hunt for them: `python -m tests.support.pfc_planted NAME [--seed 1] [--schedules 400]`.

Compiled classes cannot be changed, so that the hunt for a bug needs `INA_NATIVE=0`. Without NAME it hunts in our own
code. It prints schedule and check of the first failure, and then exits with 1."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from switch_nodes.lossless import pauses
from switch_nodes.lossless.asking import Asking
from switch_nodes.lossless.buffer import SharedBuffer
from testbed.hunt.draw import draw_schedule
from testbed.hunt.draw_pfc import PFC
from testbed.hunt.judge import run_and_judge
from testbed.worlds.simulated.lossless import switch
from testbed.worlds.simulated.lossless.switch import LosslessSwitch
from testbed.worlds.simulated.lossless.wire import LosslessWire
from workloads.wire.pfc import encode_pfc, pause_ns

__all__ = ["PLANTED_PFC", "hunt_pfc"]


def _charge_leaked_at_a_drop() -> None:
    """A fault of the link drops a packet that leaves: its charge stays."""
    go_on, passes = LosslessSwitch._go_on, LosslessSwitch._pass
    went = [False]

    def noted(self: Any, port: int, frame: bytes, outgoing: bool, at: int) -> None:
        went[0] = True
        go_on(self, port, frame, outgoing, at)

    def leaking(self: Any, port: int, frame: bytes, outgoing: bool) -> None:
        went[0] = False
        passes(self, port, frame, outgoing)
        if outgoing and not went[0] and self._offered is not None:
            self._offered.keep()

    LosslessSwitch._go_on, LosslessSwitch._pass = noted, leaking  # type: ignore[method-assign]


def _xon_lost() -> None:
    """The neighbour may go on, and no frame says so."""

    def silent(self: Any) -> None:
        for account in [each for each in self._paused if self.buffer.should_resume(each)]:
            account.is_paused = False
            self._paused.remove(account)

    Asking.after_release = silent  # type: ignore[method-assign]


def _obeyed_one_frame_late() -> None:
    """One more frame begins after each pause took effect."""
    begin = LosslessWire._begin_next
    passed: dict[tuple[int, int], int] = {}

    def late(self: Any) -> None:
        begin(self)
        for pfc_class in range(8):
            since = self.pauses.paused_since(pfc_class, self._agenda.now)
            if self._busy or since is None or passed.get((id(self), pfc_class)) == since:
                continue
            self.pauses.ignored[pfc_class] = True
            begin(self)
            self.pauses.ignored[pfc_class] = False
            if self._busy:
                passed[id(self), pfc_class] = since

    LosslessWire._begin_next = late  # type: ignore[method-assign]


def _headroom_of_the_wrong_class() -> None:
    """A packet is held against the headroom of the next account of the switch."""
    missing = SharedBuffer.admit

    def wrong(self: Any, account: Any, size: int) -> int:
        keys = list(self.accounts)
        other = self.accounts[keys[(keys.index(account.key) + 1) % len(keys)]]
        own, account.headroom = account.headroom, other.headroom
        try:
            return missing(self, account, size)
        finally:
            account.headroom = own

    SharedBuffer.admit = wrong  # type: ignore[method-assign]


def _asked_too_late() -> None:
    """XOFF leaves when half of the headroom is full."""

    def late(self: Any, account: Any) -> bool:
        return not account.is_paused and account.is_lossless and 2 * account.headroom_used > account.headroom

    SharedBuffer.should_pause = late  # type: ignore[method-assign]


def _never_asked_again() -> None:
    """A pause is not asked for again."""
    Asking.is_due = lambda self, key: False  # type: ignore[method-assign]


def _asked_for_the_wrong_class() -> None:
    """XOFF enables the class above."""

    def frame(source: bytes, times: Any) -> bytes:
        return encode_pfc(source, {(pfc_class + 1) % 8: quanta for pfc_class, quanta in times.items()})

    setattr(switch, "encode_pfc", frame)  # noqa: B010


def _charged_to_another_port() -> None:
    """Packets are charged to the next account, and the one of their port stays empty."""
    admit, release = SharedBuffer.admit, SharedBuffer.release

    def other(self: Any, account: Any) -> Any:
        keys = [key for key in self.accounts if key[1] == account.key[1]]
        return self.accounts[keys[(keys.index(account.key) + 1) % len(keys)]]

    SharedBuffer.admit = lambda self, account, size: admit(self, other(self, account), size)  # type: ignore[method-assign]
    SharedBuffer.release = lambda self, account, size: release(self, other(self, account), size)  # type: ignore[method-assign]


def _quanta_too_short() -> None:
    """The obeying end takes a quantum for 128 bit times."""
    setattr(pauses, "pause_ns", lambda quanta, rate: pause_ns(quanta, rate) // 4)  # noqa: B010


def _resumed_too_early() -> None:
    """XON leaves although the headroom is in use."""

    def early(self: Any, account: Any) -> bool:
        return bool(account.is_paused and account.shared_used <= self.threshold(account))

    SharedBuffer.should_resume = early  # type: ignore[method-assign]


PLANTED_PFC: dict[str, Callable[[], None]] = {
    "charge leaked at a drop": _charge_leaked_at_a_drop,
    "XON lost": _xon_lost,
    "pause obeyed one frame late": _obeyed_one_frame_late,
    "headroom of the wrong class": _headroom_of_the_wrong_class,
    "XOFF too late": _asked_too_late,
    "pause never asked for again": _never_asked_again,
    "XOFF for the wrong class": _asked_for_the_wrong_class,
    "charged to another port": _charged_to_another_port,
    "quanta too short": _quanta_too_short,
    "XON too early": _resumed_too_early,
}


def hunt_pfc(seed: int, schedules: int, first: int = 0) -> tuple[int, str, str] | None:
    """(schedule, check, detail) of the first failure."""
    for number in range(first, first + schedules):
        scenario = draw_schedule(seed, number, kind=PFC).scenario
        failure = None if scenario.pfc is None else run_and_judge(scenario)[0]
        if failure is not None:
            return number, failure.check, failure.detail
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", choices=PLANTED_PFC)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--schedules", type=int, default=400)
    args = parser.parse_args()
    if args.name is not None:
        PLANTED_PFC[args.name]()
    found = hunt_pfc(args.seed, args.schedules, args.first)
    print("nothing found" if found is None else f"schedule {found[0]}: {found[1]}: {found[2]}")
    return int(found is not None)


if __name__ == "__main__":
    sys.exit(main())
