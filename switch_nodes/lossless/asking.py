"""The PFC frames that a buffer sends: when one leaves for a (port, class), and with which pause time.

Rule 1: a frame with `quanta` leaves when the buffer must pause the (port, class), and again after half of this time
while the pause is needed.
Rule 2: a frame with a time of 0 leaves when the neighbour may go on.
"""

from __future__ import annotations

from collections.abc import Callable

from switch_nodes.lossless.buffer import Account, Key, SharedBuffer

__all__ = ["Asking"]

Send = Callable[[Key, int], None]
"""((port, class), quanta): a PFC frame is to leave"""


class Asking:
    """Of one buffer. `remind(key)` must lead to `is_due(key)` after half of the pause time."""

    def __init__(self, buffer: SharedBuffer, quanta: int, send: Send, remind: Callable[[Key], None]) -> None:
        self.buffer, self.quanta, self._send, self._remind = buffer, quanta, send, remind
        self.sent: dict[Key, int] = dict.fromkeys(buffer.accounts, 0)
        """PFC frames that asked for a pause"""
        self._reminders: dict[Key, int] = dict.fromkeys(buffer.accounts, 0)
        """number of reminders that are still to come"""
        self._paused: list[Account] = []

    def after_adding(self, account: Account) -> None:
        """A packet was charged."""
        if self.buffer.should_pause(account):
            account.is_paused = True
            self._paused.append(account)
            self._ask(account)

    def after_release(self) -> None:
        """A packet left. What is free for all may have changed."""
        if not self._paused:
            return
        for account in [each for each in self._paused if self.buffer.should_resume(each)]:
            account.is_paused = False
            self._paused.remove(account)
            self._send(account.key, 0)

    def settle(self) -> None:
        """Several charges changed."""
        self.after_release()
        for account in self.buffer.accounts.values():
            self.after_adding(account)

    def is_due(self, key: Key) -> bool:
        """Half of the time of a pause is over. Whether the pause goes on."""
        account = self.buffer.accounts[key]
        self._reminders[key] -= 1
        if self._reminders[key]:  # it ended in between and began again, with a reminder of its own
            return False
        if account.is_paused:
            self._ask(account)
        return account.is_paused

    def _ask(self, account: Account) -> None:
        self.sent[account.key] += 1
        self._send(account.key, self.quanta)
        self._reminders[account.key] += 1
        self._remind(account.key)
