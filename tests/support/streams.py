"""Senders that always have something to send, to one receiver over one switch, in virtual time: who gets how much of
the link, and how long its queue grows. No job, no collective: streams do not wait for each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from switch_nodes.config import SwitchConfig
from switch_nodes.forwarding import ForwardProgram
from testbed.worlds.simulated.agenda import Agenda
from testbed.worlds.simulated.nodes import HostNode, SwitchNode
from testbed.worlds.simulated.wire import Wire
from topologies import LinkShape, host_ip, host_mac
from workloads.config import DcqcnConfig, QpConfig
from workloads.machine import Buffer, Event
from workloads.rc import RcEndpoint, ReceiveCompleted, ReceiveRequest, SendCompleted, SendRequest
from workloads.wire import Envelope

__all__ = ["Streams"]

_MESSAGE_PACKETS, _POSTED = 16, 8


class _Endpoint:
    """What both ends share: an RcEndpoint as a Machine of a node."""

    def __init__(self) -> None:
        self.endpoint = RcEndpoint()
        self.events: list[tuple[int, Event]] = []

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self.endpoint.receive_frame(port, frame, now)
        self._go_on(now)

    def frames_to_send(self, now: int):
        return self.endpoint.frames_to_send(now)

    def get_timer(self) -> int | None:
        return self.endpoint.get_timer()

    def handle_timer(self, now: int) -> None:
        self.endpoint.handle_timer(now)
        self._go_on(now)

    def next_event(self) -> Event | None:
        return None

    def finish(self, now: int) -> None: ...

    def _go_on(self, now: int) -> None:
        while (event := self.endpoint.next_event()) is not None:
            self.events.append((now, event))
        while (completion := self.endpoint.next_completion()) is not None:
            self._completed(completion, now)

    def _completed(self, completion: SendCompleted | ReceiveCompleted, now: int) -> None:
        raise NotImplementedError


class Sender(_Endpoint):
    def __init__(self, config: QpConfig, start_ns: int) -> None:
        super().__init__()
        self.config, self._start_at = config, start_ns
        self.endpoint.add_qp(config)
        self._payload = bytes(_MESSAGE_PACKETS * config.path_mtu)

    def get_timer(self) -> int | None:
        return self._start_at if self._start_at is not None else super().get_timer()

    def handle_timer(self, now: int) -> None:
        if self._start_at is not None and self._start_at <= now:
            self._start_at = None
            for _ in range(_POSTED):
                self._post(now)
        super().handle_timer(now)

    def _post(self, now: int) -> None:
        self.endpoint.post_send(self.config.qpn, SendRequest(0, (self._payload,)), now)

    def _completed(self, completion: SendCompleted | ReceiveCompleted, now: int) -> None:
        assert completion.status == "SUCCESS"
        self._post(now)


class Receiver(_Endpoint):
    def __init__(self, configs: Sequence[QpConfig]) -> None:
        super().__init__()
        self.arrived: dict[int, list[tuple[int, int]]] = {config.qpn: [] for config in configs}
        """by QP: (when, bytes) of messages"""
        self._memory = memoryview(bytearray(_MESSAGE_PACKETS * configs[0].path_mtu))
        for config in configs:
            self.endpoint.add_qp(config)
            for _ in range(2 * _POSTED):
                self._post(config.qpn)

    def _post(self, qpn: int) -> None:
        self.endpoint.post_receive(qpn, ReceiveRequest(0, self._memory))

    def _completed(self, completion: SendCompleted | ReceiveCompleted, now: int) -> None:
        assert isinstance(completion, ReceiveCompleted)
        self.arrived[completion.qpn].append((now, completion.length))
        self._post(completion.qpn)


class _Watched(Wire):
    lengths: list[int]

    def send(self, frame: bytes) -> str:
        self.lengths.append(self.waiting)
        return super().send(frame)


@dataclass
class Streams:
    """`starts`: when each sender begins (ns). All links have one shape; the receiver's is the bottleneck."""

    shape: LinkShape
    starts: Sequence[int]
    dcqcn: DcqcnConfig | None
    path_mtu: int = 4096
    windows: Sequence[int] = (100, 100)
    """packets that each sender may have unacknowledged"""
    seed: int = 1
    lengths: list[int] = field(default_factory=list)
    """of the bottleneck's queue, each time that a frame was put into it"""

    def run(self, until_ns: int) -> None:
        agenda, count = Agenda(self.seed), len(self.starts)
        self.senders = [Sender(self._config(n, sends=True), start) for n, start in enumerate(self.starts)]
        self.receiver = Receiver([self._config(n, sends=False) for n in range(count)])
        machines = [*self.senders, self.receiver]
        macs = tuple((host_mac(n + 1), n) for n in range(count + 1))
        config = SwitchConfig("s1", "forward", count + 1, macs)
        hosts = [
            HostNode(f"h{n + 1}", n << 16, agenda, lambda machine=machine: machine, _ignore)
            for n, machine in enumerate(machines)
        ]
        switch = SwitchNode("s1", 100 << 16, agenda, lambda: ForwardProgram(config), _ignore, {}, {}, None)
        for n, node in enumerate(hosts):
            up, down = Wire(agenda, (n << 16) + 1000, self.shape), _Watched(agenda, (100 << 16) + 1000 + n, self.shape)
            down.lengths = self.lengths if node is hosts[-1] else []
            up.deliver = lambda frame, port=n: switch.arrive(port, frame)
            down.deliver = lambda frame, node=node: node.arrive(0, frame)
            node.attach(0, up)
            switch.attach(n, down)
        self.bottleneck = down
        for node in (*hosts, switch):
            node.start()
        while (time := agenda.next_time()) is not None and time <= until_ns:
            agenda.step()

    def _config(self, number: int, *, sends: bool) -> QpConfig:
        ends = number + 1, len(self.starts) + 1
        here, there = ends if sends else ends[::-1]
        envelope = Envelope(host_mac(here), host_mac(there), host_ip(here), host_ip(there), tos=2)
        qpns = (0x100 + number, 0x200 + number) if sends else (0x200 + number, 0x100 + number)
        return QpConfig(
            *qpns, envelope, 0, 0, path_mtu=self.path_mtu, timeout_code=18, window_packets=self.windows[number],
            dcqcn=self.dcqcn,
        )  # fmt: skip

    def goodput_bps(self, number: int, begin_ns: int, end_ns: int) -> float:
        """Of one sender, in a time."""
        arrived = self.receiver.arrived[0x200 + number]
        return 8e9 * sum(size for at, size in arrived if begin_ns <= at < end_ns) / (end_ns - begin_ns)


def _ignore(*_: object) -> None: ...
