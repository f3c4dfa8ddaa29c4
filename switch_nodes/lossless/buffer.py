"""The shared packet buffer of a switch. It charges every packet to a port and class, those of its arrival, until the
packet leaves.

Rule 1: bytes of one (port, class) fill its reserve first, then the shared buffer up to its threshold, then its
headroom. A packet belongs to one of the last two as a whole.
Rule 2: a packet that fits nowhere is dropped.
Rule 3: the switch pauses the neighbour when headroom is in use or the shared use reaches the threshold. It tests this
after a packet was added.
Rule 4: the neighbour goes on when the headroom is empty, and the shared use is 0 or at least `resume_below` bytes
below the threshold.

The order of the parts, and the two tests, follow the switch model of the HPCC simulator (`switch-mmu`). The thresholds
`static` and `dynamic` are variants decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import cython

__all__ = ["FIXED", "Account", "Key", "PortLimits", "SharedBuffer"]

Key = tuple[int, int]
"""(port, class)"""
FIXED = _FIXED = -1
"""`PortLimits.share_num` of a threshold that does not depend on what is free"""


@dataclass(frozen=True, slots=True)
class PortLimits:
    """Of one (port, class)."""

    headroom: int
    """bytes; 0: the class is lossy, or loses what comes above the threshold"""
    threshold: int
    """bytes of the shared buffer, if `share_num` is FIXED"""
    share_num: int = FIXED
    """the threshold is share_num / share_den of the free part of the shared buffer"""
    share_den: int = 1
    reserve: int = 0
    """bytes that belong to this (port, class) alone and count towards no threshold"""
    is_lossless: bool = True


class Account:
    """What is charged to one (port, class), in bytes."""

    __slots__ = (
        "dropped", "fixed", "headroom", "headroom_used", "is_lossless", "is_paused", "key", "limits", "most_headroom",
        "reserve", "share_den", "share_num", "used",
    )  # fmt: skip

    def __init__(self, key: Key, limits: PortLimits) -> None:
        self.key, self.limits = key, limits
        self.headroom, self.reserve, self.is_lossless = limits.headroom, limits.reserve, limits.is_lossless
        self.share_num, self.share_den, self.fixed = limits.share_num, limits.share_den, limits.threshold
        self.used = 0
        """in reserve and shared buffer"""
        self.headroom_used = self.most_headroom = 0
        self.is_paused = False
        self.dropped = 0
        """packets that were not taken"""

    @property
    def total(self) -> int:
        return self.used + self.headroom_used

    @property
    def shared_used(self) -> int:
        return max(0, self.used - self.reserve)


if not cython.compiled:

    def shared_of(account: Account) -> int:
        """As `Account.shared_used`."""
        return account.shared_used


class SharedBuffer:
    """`shared_bytes`: what all (port, class) share, without reserves and headroom."""

    def __init__(self, shared_bytes: int, limits: Mapping[Key, PortLimits], resume_below: int) -> None:
        self.shared_bytes, self.resume_below = shared_bytes, resume_below
        self.accounts = {key: Account(key, each) for key, each in limits.items()}
        self.shared_used = 0

    def threshold(self, account: Account) -> int:
        """Bytes of the shared buffer from which its neighbour is paused, right now."""
        return self.threshold_at(account, self.shared_bytes - self.shared_used, shared_of(account))

    def threshold_at(self, account: Account, free: int, own: int) -> int:
        """The same while `free` bytes of the shared buffer are free, and the account has `own` of it."""
        if account.share_num == _FIXED:
            return min(account.fixed, free + own)
        return max(0, free) * account.share_num // account.share_den

    def admit(self, account: Account, size: int) -> int:
        """Charge a packet that came. Returns how many bytes were missing; 0: it was taken."""
        return 0 if self._add(account, size) else self._missing(account, size)

    def take_back(self, account: Account, size: int) -> None:
        """Charge a packet that is in the switch already, whatever the limits say."""
        if not self._add(account, size):
            account.headroom_used += size

    def release(self, account: Account, size: int) -> None:
        """A packet left: its bytes free the headroom first, then the shared buffer, then the reserve."""
        of_headroom = min(account.headroom_used, size)
        account.headroom_used -= of_headroom
        before = shared_of(account)
        account.used -= size - of_headroom
        self.shared_used -= before - shared_of(account)

    def should_pause(self, account: Account) -> bool:
        if account.is_paused or not account.is_lossless:
            return False
        if account.headroom_used > 0:
            return True
        threshold = self.threshold(account)
        return 0 < threshold <= shared_of(account)

    def should_resume(self, account: Account) -> bool:
        if not account.is_paused or account.headroom_used:
            return False
        return self.may_resume(shared_of(account), self.threshold(account))

    def may_resume(self, shared_used: int, threshold: int) -> bool:
        """Whether so many bytes of the shared buffer let the neighbour go on, at that threshold and with nothing in the
        headroom."""
        return not shared_used or shared_used + self.resume_below <= threshold

    def _add(self, account: Account, size: int) -> bool:
        new = account.used + size
        if new <= account.reserve:
            account.used = new
            return True
        over = new - account.reserve
        added = over - shared_of(account)
        if over <= self.threshold(account) and added <= self.shared_bytes - self.shared_used:
            account.used = new
            self.shared_used += added
            return True
        if account.headroom_used + size > account.headroom:
            return False
        account.headroom_used += size
        account.most_headroom = max(account.most_headroom, account.headroom_used)
        return True

    def _missing(self, account: Account, size: int) -> int:
        if account.is_lossless:
            return account.headroom_used + size - account.headroom
        return size
