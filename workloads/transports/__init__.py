"""Transports: how packets of a protocol travel, and how others recognise them."""

from workloads.transports.kind import SentAs, ShownHeader, TransportKind

__all__ = ["SentAs", "ShownHeader", "TransportKind"]
