"""What a user posts to a queue pair and gets back: work requests and completions (names as in the verbs API)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from workloads.machine import Buffer

__all__ = ["SUCCESS", "Completion", "ReceiveCompleted", "ReceiveRequest", "SendCompleted", "SendRequest"]

SUCCESS = "SUCCESS"


@dataclass(frozen=True, slots=True)
class SendRequest:
    """One message to send: an RDMA WRITE when `remote_va` is set, a SEND otherwise.

    The segments are not copied: their bytes must stay as they are until the message's `SendCompleted`.
    """

    wr_id: int
    segments: tuple[Buffer, ...]
    """gather list; the message is their concatenation, each C-contiguous, at most 2^31 bytes together"""
    imm: int | None = None
    """immediate data, 32 bits; wakes the receiver up"""
    remote_va: int | None = None
    rkey: int = 0
    """key of the remote memory (WRITE)"""


@dataclass(frozen=True, slots=True)
class ReceiveRequest:
    """Room for one SEND, or for the immediate data of one WRITE."""

    wr_id: int
    memory: memoryview | None = None
    """where the bytes of a SEND go, writable; None is enough for a WRITE with immediate data"""


@dataclass(frozen=True, slots=True)
class SendCompleted:
    """A message was acknowledged, or will never be."""

    qpn: int
    wr_id: int
    status: str
    """SUCCESS, RETRY_EXC, RNR_RETRY_EXC, REM_INV_REQ, REM_ACCESS, REM_OP, FLUSH"""


@dataclass(frozen=True, slots=True)
class ReceiveCompleted:
    """A message arrived completely and in order. A receive that a failed QP still holds never completes."""

    qpn: int
    wr_id: int
    imm: int | None
    length: int
    """bytes of the message (of a WRITE: those written)"""


Completion: TypeAlias = SendCompleted | ReceiveCompleted
