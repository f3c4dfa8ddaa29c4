"""An RDMA device by pyverbs (Debian: python3-pyverbs), as a `Nic`. Nothing but calls and the words for their
failures."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Callable
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np

from workloads.config import QpConfig
from workloads.errors import HostCapabilityError
from workloads.verbs.counters import read_counters
from workloads.verbs.gids import SYSFS, choose_gid, device_names, gid_of, read_gids
from workloads.verbs.nic import Region, WorkCompletion

__all__ = ["STATUS", "VerbsNic", "load_pyverbs"]

_T = TypeVar("_T")
_DEPTH = 256
_POLL_AT_ONCE = 16
_ATTEMPTS = 5
"""attempts to reach a peer"""
_MTU_BYTES = {1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096}
"""enum ibv_mtu"""
STATUS: dict[str, str] = {
    "SUCCESS": "SUCCESS",
    "LOC_LEN_ERR": "LOC_LEN",
    "WR_FLUSH_ERR": "FLUSH",
    "REM_INV_REQ_ERR": "REM_INV_REQ",
    "REM_ACCESS_ERR": "REM_ACCESS",
    "REM_OP_ERR": "REM_OP",
    "RETRY_EXC_ERR": "RETRY_EXC",
    "RNR_RETRY_EXC_ERR": "RNR_RETRY_EXC",
}
"""`IBV_WC_...` -> the words of `workloads.rc`; others keep their name"""


def load_pyverbs() -> Any:
    """The modules of pyverbs that are used here, in one namespace. Raises HostCapabilityError when it is not
    installed."""
    try:
        from pyverbs import addr, cq, device, enums, mr, pd, pyverbs_error, qp, wr
    except ImportError as error:
        raise HostCapabilityError(
            f"pyverbs ({error})", "`apt-get install rdma-core python3-pyverbs` supplies it"
        ) from error
    return SimpleNamespace(
        addr=addr, cq=cq, device=device, e=enums, mr=mr, pd=pd, Error=pyverbs_error.PyverbsError, qp=qp, wr=wr
    )


class VerbsNic:
    """One port of one device, used from one IPv4 address. Raises HostCapabilityError: no such device, no permission, no
    GID for the address."""

    def __init__(self, device: str, ip: bytes, *, port: int = 1, sysfs: Path = SYSFS) -> None:
        self.name, self.depth, self._port, self._sysfs = device, _DEPTH, port, sysfs
        self._v = load_pyverbs()
        gids = read_gids(device, port, sysfs)
        self._gid = choose_gid(gids, ip, device)
        v = self._v
        self._context = self._call("open the device", lambda: v.device.Context(name=device))
        limits = self._call("query the device", self._context.query_device)
        self.depth = min(_DEPTH, limits.max_qp_wr)
        self._mtu = _MTU_BYTES.get(
            self._call(f"query port {port}", lambda: self._context.query_port(port)).active_mtu, 0
        )
        self._pd = self._call("allocate a protection domain", lambda: v.pd.PD(self._context))
        entries = min(limits.max_cqe, 4 * self.depth)
        self._send_cq = self._call("create a completion queue", lambda: v.cq.CQ(self._context, entries, None, None, 0))
        self._receive_cq = self._call(
            "create a completion queue", lambda: v.cq.CQ(self._context, entries, None, None, 0)
        )
        self._qps: dict[int, Any] = {}
        self._memory: list[tuple[Any, memoryview]] = []
        self._status = _status_words(v.e)

    def create_qp(self, config: QpConfig) -> int:
        if config.path_mtu > self._mtu:
            raise HostCapabilityError(
                f"a path MTU of {config.path_mtu} on {self.name} (its port has {self._mtu})",
                f"an interface MTU of at least {config.path_mtu + 104} allows it",
            )
        v, e = self._v, self._v.e
        cap = v.qp.QPCap(max_send_wr=self.depth, max_recv_wr=self.depth, max_send_sge=1, max_recv_sge=1)
        init = v.qp.QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self._send_cq, rcq=self._receive_cq, cap=cap, sq_sig_all=1)
        attributes = v.qp.QPAttr(port_num=self._port)
        attributes.qp_access_flags = e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_LOCAL_WRITE
        qp = self._call("create a queue pair", lambda: v.qp.QP(self._pd, init, attributes))
        self._qps[qp.qp_num] = qp
        return int(qp.qp_num)

    def connect(self, qpn: int, config: QpConfig, peer_qpn: int) -> None:
        v, envelope = self._v, config.envelope
        route = v.addr.GlobalRoute(dgid=v.addr.GID(gid_of(envelope.dst_ip).exploded), sgid_index=self._gid.index)
        route.hop_limit, route.traffic_class = 64, envelope.tos
        attributes = v.qp.QPAttr(port_num=self._port)
        attributes.path_mtu = next(code for code, size in _MTU_BYTES.items() if size == config.path_mtu)
        attributes.dest_qp_num, attributes.rq_psn, attributes.sq_psn = peer_qpn, config.peer_first_psn, config.first_psn
        attributes.min_rnr_timer, attributes.timeout = config.rnr_timer_code, config.timeout_code
        attributes.retry_cnt, attributes.rnr_retry = config.retry_count, config.rnr_retry
        attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 1
        attributes.ah_attr = v.addr.AHAttr(gr=route, is_global=1, port_num=self._port)
        # The kernel resolves the peer's MAC here, and waits a second for it: one lost ARP frame makes it fail, so ask
        # again.
        for left in reversed(range(_ATTEMPTS)):
            try:
                self._qps[qpn].to_rts(attributes)
                return
            except v.Error as error:
                if left and getattr(error, "error_code", -1) == errno.ETIMEDOUT:
                    continue
                raise _refusal(self.name, f"connect to {ip_address(envelope.dst_ip)}", error) from error

    def register(self, memory: memoryview, *, remote: bool) -> Region:
        v, e = self._v, self._v.e
        access = e.IBV_ACCESS_LOCAL_WRITE | (e.IBV_ACCESS_REMOTE_WRITE if remote else 0)
        address = int(np.frombuffer(memory, np.uint8).__array_interface__["data"][0])
        size = memory.nbytes
        region = self._call(f"register {size} bytes", lambda: v.mr.MR(self._pd, size, access, address=address))
        self._memory.append((region, memory))
        return Region(address, region.lkey, region.rkey if remote else 0)

    def post_send(
        self, qpn: int, wr_id: int, source: tuple[Region, int], imm: int | None, target: tuple[int, int] | None
    ) -> None:
        v, e, (region, length) = self._v, self._v.e, source
        opcodes = (
            (e.IBV_WR_SEND, e.IBV_WR_SEND_WITH_IMM)
            if target is None
            else (e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_WRITE_WITH_IMM)
        )
        with contextlib.closing(v.wr.SGE(region.address, length, region.lkey)) as part:
            request = v.wr.SendWR(
                wr_id=wr_id,
                opcode=opcodes[imm is not None],
                num_sge=1,
                imm_data=socket.htonl(imm or 0),
                sg=[part],
            )
            with contextlib.closing(request):  # nothing else frees its list of parts
                if target is not None:
                    request.set_wr_rdma(target[1], target[0])
                self._call(f"post message {wr_id}", lambda: self._qps[qpn].post_send(request))

    def post_receive(self, qpn: int, wr_id: int, region: Region, offset: int, length: int) -> None:
        wr = self._v.wr
        with (
            contextlib.closing(wr.SGE(region.address + offset, length, region.lkey)) as part,
            contextlib.closing(wr.RecvWR(wr_id=wr_id, num_sge=1, sg=[part])) as request,
        ):
            self._call(f"post receive {wr_id}", lambda: self._qps[qpn].post_recv(request))

    def poll(self) -> list[WorkCompletion]:
        found = []
        # Sends first: an ACK that frees a buffer counts before the result that may want to fill it.
        for queue, receive in ((self._send_cq, False), (self._receive_cq, True)):
            _, entries = self._call("poll", partial(queue.poll, _POLL_AT_ONCE))
            for entry in entries:
                with_imm = receive and entry.wc_flags & self._v.e.IBV_WC_WITH_IMM
                imm = socket.ntohl(entry.imm_data) if with_imm else None
                status = self._status.get(entry.status, f"status {entry.status}")
                length = entry.byte_len if receive else 0
                found.append(WorkCompletion(entry.qp_num, entry.wr_id, receive, status, length, imm))
        return found

    def counters(self) -> dict[str, int]:
        return read_counters(self._sysfs / self.name / "ports" / str(self._port) / "hw_counters")

    def close(self) -> None:
        parts = (
            *self._qps.values(),
            *(region for region, _ in self._memory),
            self._send_cq,
            self._receive_cq,
            self._pd,
        )
        for part in (*parts, self._context):
            with contextlib.suppress(self._v.Error):
                part.close()
        self._qps.clear()
        self._memory.clear()

    def _call(self, what: str, act: Callable[[], _T]) -> _T:
        try:
            return act()
        except self._v.Error as error:
            raise _refusal(self.name, what, error) from error


def _status_words(enums: Any) -> dict[int, str]:
    """Words by value of `enum ibv_wc_status`."""
    return {
        value: STATUS.get(name.removeprefix("IBV_WC_"), name.removeprefix("IBV_WC_"))
        for name, value in vars(enums).items()
        if name == "IBV_WC_SUCCESS" or (name.startswith("IBV_WC_") and name.endswith("_ERR"))
    }


def _refusal(device: str, what: str, error: Exception) -> HostCapabilityError:
    """What the kernel's answer means, and what to do about it."""
    code = getattr(error, "error_code", -1)
    can = f"what it takes to {what} ({device}: {error})"
    if code in (errno.EACCES, errno.EPERM):
        return HostCapabilityError(can, "run as root, or get access to /dev/infiniband/uverbs*")
    if code == errno.ENOMEM and what.startswith("register"):
        return HostCapabilityError(can, "`ulimit -l` is how much memory may be registered")
    if code == errno.ENOMEM and what.startswith("post"):
        return HostCapabilityError(can, "its queue is full")
    if code in (errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH) and what.startswith("connect"):
        return HostCapabilityError(
            can, "no host answers ARP for that address: is the peer up, does the switch forward?"
        )
    if what.startswith("open") and not Path("/dev/infiniband").is_dir():
        return HostCapabilityError(can, "`modprobe ib_uverbs` makes /dev/infiniband")
    return HostCapabilityError(can, f"`rdma link show` prints the state of {', '.join(device_names()) or 'no device'}")
