"""Protocols whose packets travel over reliable connections (RoCE v2 RC)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.hunt.contract import Protocol
from workloads.config import IRN_END_TO_END

if TYPE_CHECKING:
    from workloads.transports import TransportKind

__all__ = ["ConnectedProtocol"]


class ConnectedProtocol(Protocol):
    """Its connections run from host to host, so they may take every recovery between two ends."""

    def recoveries(self) -> tuple[str, ...]:
        return ("gbn", *IRN_END_TO_END)

    def transport(self, framing: str) -> TransportKind:
        from workloads.rc.transport import RELIABLE  # when packets are looked at

        return RELIABLE
