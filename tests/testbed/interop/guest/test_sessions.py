"""What the guest does in a case, on devices in memory: the host's question whether to go on is where their wires
move."""

from __future__ import annotations

import dataclasses

import pytest

from testbed.history.codec import read_record
from testbed.interop.guest import allreduce, peer
from testbed.interop.guest.peer_side import PeerMessage, PeerSide
from testbed.interop.peercases import RXE, SOFT, PeerCase
from testbed.interop.peerhost import peer_configs
from testbed.interop.protocol import CaseRequest, QpNames, WorkerRequest
from tests.support.fake_nics import Fabric
from tests.support.simulation import digests, expected_digests, rack_plan
from workloads.codec import PLAIN
from workloads.config import ArithmeticSpec
from workloads.verbs import PeerNames, VerbsEndpoint, VerbsNames, VerbsWorker, true_configs

MAC, IP = bytes.fromhex("02494e410001"), bytes((10, 77, 0, 2))


class Host:
    """The host's part: `turn` happens each time that the session asks whether it is cancelled."""

    def __init__(self, turn, over=lambda: False):
        self.turn, self.over, self.announced = turn, over, []

    def __call__(self):
        self.turn()
        return self.over()

    def announce(self, what):
        if what not in self.announced:
            self.announced.append(what)

    def announce_done(self):
        self.announce("done")


def request_of(plan, **more):
    workers = tuple(WorkerRequest(f"rxe{rank}", config) for rank, config in enumerate(plan.workers))
    return CaseRequest("test", "allreduce", 5.0, workers, **more)


@pytest.fixture
def fabric(monkeypatch):
    made = Fabric(aggregate=ArithmeticSpec())
    monkeypatch.setattr(
        allreduce, "VerbsWorker", lambda config, device, source: VerbsWorker(config, device, source, open_nic=made.open)
    )
    monkeypatch.setattr(peer, "VerbsNic", lambda device, ip: made.open(device, ip))
    return made


def start_of(plan, request, session):
    names = {rank: VerbsNames(*dataclasses.astuple(one)) for rank, one in enumerate(session.names)}
    true = true_configs(plan.workers, names)
    workers = tuple(WorkerRequest(w.device, config) for w, config in zip(request.workers, true, strict=True))
    return dataclasses.replace(request, workers=workers)


def test_all_ranks_of_a_guest_reduce(fabric):
    plan = rack_plan(3, job={"size_bytes": 20_000, "message_packets": 4, "iterations": 2})
    request = request_of(plan)
    session = allreduce.open_session(request)
    result = session.run(start_of(plan, request, session), Host(fabric.deliver))
    assert result.error == ""
    assert digests(map(read_record, result.records)) == expected_digests(plan)
    assert [r["device"] for r in result.records if r["event"] == "NicCounters"] == ["rxe0", "rxe1", "rxe2"]


def test_ranks_with_peers_elsewhere_say_that_they_are_done_and_stay(fabric):
    plan = rack_plan(2, job={"size_bytes": 4_000})
    request = request_of(plan, options={"linger": True})
    session = allreduce.open_session(request)
    host = Host(fabric.deliver)
    stayed = []
    host.over = lambda: bool(host.announced) and bool(stayed.append(1) or len(stayed) > 3)
    result = session.run(start_of(plan, request, session), host)
    assert (result.error, host.announced) == ("", ["done"])
    assert len(stayed) == 4


def test_those_that_do_not_end_are_named(fabric):
    plan = rack_plan(2, job={"size_bytes": 4_000})
    request = dataclasses.replace(request_of(plan), limit_s=0.05)
    session = allreduce.open_session(request)
    result = session.run(start_of(plan, request, session), Host(lambda: None))
    assert result.error.startswith("h1, h2 did not end within 0.")


def test_a_worker_that_cannot_be_opened_leaves_no_device_open(monkeypatch):
    plan, opened, fabric = rack_plan(2), [], Fabric()

    def make(config, device, source):
        if device == "rxe1":
            raise RuntimeError("no rxe1")
        opened.append(VerbsWorker(config, device, source, open_nic=fabric.open))
        return opened[0]

    monkeypatch.setattr(allreduce, "VerbsWorker", make)
    with pytest.raises(RuntimeError, match="no rxe1"):
        allreduce.open_session(request_of(plan))
    assert opened[0]._nic.closed


class FarEnd:
    """Our side of a peer test on another device of the fabric."""

    def __init__(self, fabric, case):
        self.config = peer_configs(case, 1, MAC, IP, None)[SOFT]
        self.endpoint = VerbsEndpoint(fabric.open("far", self.config.send_qp.envelope.src_ip))
        self.endpoint.add_qp(self.config.send_qp)
        self.endpoint.add_qp(self.config.receive_qp)
        self.side = PeerSide(self.config, self.endpoint)

    def connect(self, names):
        offset = names.base_va - self.config.peer_base_va
        self.endpoint.connect(self.config.send_qp.qpn, PeerNames(names.recv_qpn, names.rkey, offset))
        self.endpoint.connect(self.config.receive_qp.qpn, PeerNames(names.send_qpn))
        self.side.start(0)

    def config_of_guest(self, names):
        """As the host tells it: with the far end's real names."""
        region = self.endpoint.region_of(self.config.rkey)
        send, receive = (self.endpoint.real_qpn(qp.qpn) for qp in (self.config.send_qp, self.config.receive_qp))
        true = peer_configs(CASE, 1, MAC, IP, names)[RXE]
        return dataclasses.replace(
            true,
            send_qp=dataclasses.replace(true.send_qp, peer_qpn=receive),
            receive_qp=dataclasses.replace(true.receive_qp, peer_qpn=send),
            peer_base_va=region.address,
            peer_rkey=region.rkey,
        )


CASE = PeerCase("peer/test", (PeerMessage("send", 3000, 7), PeerMessage("write", 100, 8)), (PeerMessage("send", 40),))


def peer_request(config):
    return CaseRequest("test", "peer", 5.0, (), {"device": "rxe0", "config": PLAIN.encode(config)})


def test_a_peer_test_reports_what_came_and_went(fabric):
    fabric.aggregate = None
    planned = peer_configs(CASE, 1, MAC, IP, None)
    session = peer.open_session(peer_request(planned[RXE]))
    far = FarEnd(fabric, CASE)
    (names,) = session.names
    assert isinstance(names, QpNames)
    far.connect(names)

    def turn():
        fabric.deliver()
        far.endpoint.handle_timer(0)
        far.side.advance()

    host = Host(turn)
    host.over = lambda: "done" in host.announced and far.side.done
    result = session.run(peer_request(far.config_of_guest(names)), host)
    assert (result.error, host.announced) == ("", ["connected", "done"])
    assert (result.facts["sent"], result.facts["received"]) == (["SUCCESS", "SUCCESS"], [[None, 40]])
    assert result.facts["failures"] == []
    assert far.side.report()["received"] == [[7, 3000], [8, 100]]


def test_a_peer_test_that_fails_says_so_with_the_reason(fabric):
    fabric.aggregate = None
    session = peer.open_session(peer_request(peer_configs(CASE, 1, MAC, IP, None)[RXE]))
    far = FarEnd(fabric, CASE)
    (names,) = session.names
    far.connect(names)

    def turn():
        busy = [qp for qp in fabric.qps.values() if qp.sends and qp.nic.name == "rxe0"]
        if busy:
            fabric.fail(busy[0], "RETRY_EXC")

    host = Host(turn)
    host.over = lambda: bool(host.announced[1:])
    result = session.run(peer_request(far.config_of_guest(names)), host)
    assert host.announced == ["connected", "failed"]
    ((status, detail),) = result.facts["failures"]
    assert status == "RETRY_EXC"
    assert detail.startswith("rxe0: message 0 ended with RETRY_EXC, peer 10.77.1.1")
