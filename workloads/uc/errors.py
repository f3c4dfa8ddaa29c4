"""Why a UC packet was dropped."""

from __future__ import annotations

from workloads.wire import WireError

__all__ = ["UcError"]


class UcError(WireError):
    """A UC packet to us that is dropped as in UC: no message about it goes over the network."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason = reason
        """malformed, icrc, unknown_qp, gap, invalid"""
        super().__init__(detail)
