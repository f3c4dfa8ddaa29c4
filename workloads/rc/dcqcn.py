"""DCQCN at the ends of a connection: the notification point (a receiver that answers CE with CNPs) and the reaction
point (a sender that answers CNPs with its rate). No bytes, no clock: marks, CNPs, sent bytes and time in, a rate out.
"""

from __future__ import annotations

from workloads.config import DcqcnConfig
from workloads.events import RateChanged
from workloads.rc.dcqcn_table import REACTION_TABLE, ReactionAction, ReactionEvent, ReactionState
from workloads.rc.pacing import PacingGate
from workloads.rc.tally import Outbox

__all__ = ["NotificationPoint", "ReactionPoint"]


class NotificationPoint:
    """At most one CNP per interval."""

    def __init__(self, interval_ns: int) -> None:
        self._interval_ns = interval_ns
        self._last: int | None = None
        self.marked = self.notices = 0
        """packets with CE; CNPs that the receiver had to send"""

    def on_marked(self, now: int) -> bool:
        """A data packet came with CE. Returns whether the receiver must send a CNP for it."""
        self.marked += 1
        if self._last is not None and now - self._last < self._interval_ns:
            return False
        self._last = now
        self.notices += 1
        return True


class ReactionPoint:
    """The rate of one queue pair, and the gate that holds its requests to it."""

    def __init__(self, config: DcqcnConfig, qpn: int, outbox: Outbox) -> None:
        self._config, self._qpn, self._outbox = config, qpn, outbox
        self._gate = PacingGate(config.burst_ns)
        self.state = ReactionState.LINE_RATE
        self.rate_bps = self.target_bps = config.line_rate_bps
        self.alpha = 1.0
        """0..1, as it was at the last CNP; `_decay` makes up for the time since"""
        self._timer: int | None = None
        self._opens_at: int | None = None
        """time when the gate opens; None: it is open, or was reported open"""
        self.cuts = self.cnps = 0
        self._last_cnp: int | None = None
        self._last_cut: int | None = None
        self._timer_events = self._byte_events = self._bytes = 0

    def may_send(self, now: int) -> bool:
        return self.state is ReactionState.LINE_RATE or self._gate.is_open(now)

    @property
    def deadline(self) -> int | None:
        """When it wants `on_timer`, or lets a packet out that it held back; None: never."""
        timer, opens_at = self._timer, self._opens_at
        return timer if opens_at is None or (timer is not None and timer < opens_at) else opens_at

    def on_sent(self, size: int, now: int) -> None:
        """A request frame of `size` bytes left."""
        if self.state is ReactionState.LINE_RATE:
            return
        self._opens_at = self._gate.spend(size, self.rate_bps, now)
        self._bytes += size
        while self._bytes >= self._config.byte_counter_bytes and self._is_limited():
            self._bytes -= self._config.byte_counter_bytes
            self._byte_events += 1
            self._increase("bytes", now)

    def on_cnp(self, now: int) -> None:
        self.cnps += 1
        self._decay(now)
        self._last_cnp = now
        soon = self._last_cut is not None and now - self._last_cut < self._config.cut_period_ns
        self._step(ReactionEvent.CNP_SOON if soon else ReactionEvent.CNP, "cnp", now)

    def on_timer(self, now: int) -> None:
        """Late is harmless (each period that went by counts), early does nothing."""
        if self._opens_at is not None and self._opens_at <= now:
            self._opens_at = None
        while self._timer is not None and self._timer <= now:
            self._timer += self._config.increase_timer_ns
            self._timer_events += 1
            self._increase("timer", now)

    def _decay(self, now: int) -> None:
        """alpha = (1 - g) alpha for each alpha period that went by without a CNP."""
        if self._last_cnp is not None:
            self.alpha *= (1 - self._config.gain) ** ((now - self._last_cnp) // self._config.alpha_timer_ns)

    def _is_limited(self) -> bool:
        return self.state is not ReactionState.LINE_RATE

    def _increase(self, cause: str, now: int) -> None:
        steps, asked = self._config.recovery_steps, (self._timer_events, self._byte_events)
        if min(asked) > steps:
            event = ReactionEvent.INCREASE_BOTH
        else:
            event = ReactionEvent.INCREASE_ONE if max(asked) >= steps else ReactionEvent.INCREASE
        self._step(event, cause, now)

    def _step(self, event: ReactionEvent, cause: str, now: int) -> None:
        before = self.rate_bps
        self._take(event, now)
        # The gap is halved each time and would never close: what is less than a step counts as closed.
        line = self._config.line_rate_bps
        is_near = self.target_bps == line and line - self.rate_bps <= self._config.additive_bps
        if cause != "cnp" and is_near and self._is_limited():
            self.rate_bps = line
            self._take(ReactionEvent.BACK, now)
        if self.rate_bps != before:
            state = self.state.name.lower()
            self._outbox.events.append(
                RateChanged(self._qpn, cause, state, self.rate_bps, self.target_bps, round(self.alpha, 6))
            )

    def _take(self, event: ReactionEvent, now: int) -> None:
        config = self._config
        self.state, actions = REACTION_TABLE[self.state, event]
        for action in actions:
            if action is ReactionAction.CUT:
                self.cuts += 1
                self._last_cut = now
                self.target_bps = self.rate_bps
                self.rate_bps = max(config.min_rate_bps, int(self.rate_bps * (1 - self.alpha / 2)))
            elif action is ReactionAction.RAISE_ALPHA:
                self.alpha = (1 - config.gain) * self.alpha + config.gain
            elif action is ReactionAction.RESTART:
                self._timer_events = self._byte_events = self._bytes = 0
                self._timer = now + config.increase_timer_ns
            elif action is ReactionAction.STEP_TARGET:
                self.target_bps = min(config.line_rate_bps, self.target_bps + config.additive_bps)
            elif action is ReactionAction.LEAP_TARGET:
                beyond = min(self._timer_events, self._byte_events) - config.recovery_steps
                self.target_bps = min(config.line_rate_bps, self.target_bps + beyond * config.hyper_bps)
            elif action is ReactionAction.CLOSE_IN:
                self.rate_bps = (self.target_bps + self.rate_bps) // 2
            else:
                self._timer = self._opens_at = None
                self._gate.forget()
