"""pyverbs without a kernel: the classes that `workloads.verbs.libibverbs` calls, which note what they were told."""

from __future__ import annotations

import errno
import os
import socket
from types import SimpleNamespace
from typing import Any

__all__ = ["MEMORY", "PERMISSION", "UNREACHABLE", "FakeError", "completion", "fake_pyverbs"]


class FakeError(Exception):
    def __init__(self, text: str, code: int) -> None:
        super().__init__(f"{text}. Errno: {code}, {os.strerror(code)}")
        self.error_code = code


class _Part:
    """Anything that is opened and closed."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.args, self.options, self.closed = args, options, 0

    def close(self) -> None:
        self.closed += 1
        assert self.closed == 1, "closing twice frees twice"


def fake_pyverbs(*, active_mtu: int = 3, fail: tuple[str, int] | None = None, qps: list[Any] | None = None) -> Any:
    """`fail`: (class or method, errno) that is refused. `qps`: gets every queue pair. `cq.entries` of a queue are what
    it will be asked for."""

    def check(name: str) -> None:
        if fail is not None and fail[0] == name:
            raise FakeError(f"Failed to do {name}", fail[1])

    class Context(_Part):
        def __init__(self, **options: Any) -> None:
            check("Context")
            super().__init__(**options)

        def query_device(self) -> Any:
            return SimpleNamespace(max_qp_wr=100, max_cqe=1000)

        def query_port(self, port: int) -> Any:
            return SimpleNamespace(active_mtu=active_mtu)

    class CQ(_Part):
        made: list[CQ] = []

        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.entries: list[Any] = []
            self.made.append(self)

        def poll(self, most: int) -> tuple[int, list[Any]]:
            found, self.entries = self.entries[:most], self.entries[most:]
            return len(found), found

    class MR(_Part):
        def __init__(self, *args: Any, **options: Any) -> None:
            check("MR")
            super().__init__(*args, **options)
            self.lkey, self.rkey = 0x100, 0x200

    class QP(_Part):
        def __init__(self, *args: Any) -> None:
            check("QP")
            super().__init__(*args)
            self.qp_num, self.sent, self.received = 0x11, [], []
            if qps is not None:
                qps.append(self)

        def to_rts(self, attributes: Any) -> None:
            check("to_rts")
            self.attributes = attributes

        def post_send(self, request: Any) -> None:
            check("post_send")
            assert not request.closed
            self.sent.append(request)

        def post_recv(self, request: Any) -> None:
            assert not request.closed
            self.received.append(request)

    class SendWR(_Part):
        remote: tuple[int, int] | None = None

        def set_wr_rdma(self, rkey: int, addr: int) -> None:
            self.remote = rkey, addr

    def namespace(**options: Any) -> Any:
        return SimpleNamespace(**options)

    enums = {
        "IBV_WR_SEND": 2, "IBV_WR_SEND_WITH_IMM": 3, "IBV_WR_RDMA_WRITE": 0, "IBV_WR_RDMA_WRITE_WITH_IMM": 1,
        "IBV_QPT_RC": 2, "IBV_ACCESS_LOCAL_WRITE": 1, "IBV_ACCESS_REMOTE_WRITE": 2, "IBV_WC_WITH_IMM": 2,
        "IBV_WC_SUCCESS": 0, "IBV_WC_WR_FLUSH_ERR": 5, "IBV_WC_RETRY_EXC_ERR": 12, "IBV_WC_BAD_RESP_ERR": 7,
        "IBV_WC_RECV": 128,
    }  # fmt: skip
    return SimpleNamespace(
        e=SimpleNamespace(**enums),
        Error=FakeError,
        device=SimpleNamespace(Context=Context),
        pd=SimpleNamespace(PD=_Part),
        cq=SimpleNamespace(CQ=CQ),
        mr=SimpleNamespace(MR=MR),
        qp=SimpleNamespace(QP=QP, QPCap=namespace, QPInitAttr=namespace, QPAttr=namespace),
        wr=SimpleNamespace(SGE=_Part, SendWR=SendWR, RecvWR=_Part),
        addr=SimpleNamespace(GID=str, GlobalRoute=namespace, AHAttr=namespace),
    )


def completion(qpn: int, wr_id: int, status: int = 0, *, imm: int | None = None, length: int = 0) -> Any:
    """A work completion as pyverbs gives it: immediate data in network order."""
    return SimpleNamespace(
        qp_num=qpn, wr_id=wr_id, status=status, byte_len=length,
        imm_data=socket.htonl(imm or 0), wc_flags=0 if imm is None else 2,
    )  # fmt: skip


PERMISSION, MEMORY, UNREACHABLE = errno.EACCES, errno.ENOMEM, errno.ETIMEDOUT
