"""`tb worker --device`: three ranks in three threads of one test, on devices in memory."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from testbed.cli import main
from testbed.cli.verbsnode import run_device_worker, true_names
from testbed.history import make_record
from tests.support.fake_nics import Fabric
from tests.support.nodetexts import WORKER_TEXT
from tests.support.simulation import digests, expected_digests, rack_plan
from workloads.config import ArithmeticSpec
from workloads.gradients import create_source
from workloads.verbs import VerbsWorker
from workloads.verbs.exchange import FolderExchange
from workloads.verbs.names import planned_names

LINGER_NS = 20_000_000_000


class LockedFabric(Fabric):
    """Polled from several threads; each poll moves messages."""

    def __init__(self, **options):
        super().__init__(**options)
        self.lock = threading.RLock()
        self.early = 0

    def open(self, device, ip):
        nic = super().open(device, ip)
        for name in ("create_qp", "connect", "register", "post_send", "post_receive", "poll"):
            setattr(nic, name, self.locked(getattr(nic, name), deliver=name == "poll"))
        return nic

    def locked(self, act, *, deliver):
        def locked(*args, **options):
            with self.lock:
                if deliver:
                    self.deliver()
                return act(*args, **options)

        return locked

    def deliver(self):
        self.early += any(qp.sends and self.peer(qp).peer is None for qp in self.qps.values() if qp.peer is not None)
        return super().deliver()


def run_ring(folder, plan, fabric, *, stop=lambda: False):
    records = []

    def one(config):
        c = config.collective
        return run_device_worker(
            config,
            f"rxe{c.rank}",
            create_source(config.workload, c.rank, c.size, c.arithmetic.dtype),
            FolderExchange(folder, c.ring_id, c.rank),
            tell=lambda now, event: records.append(make_record(now, config.name, event)),
            stopped=stop,
            linger_ns=LINGER_NS,
            open_worker=lambda *told: VerbsWorker(*told, open_nic=fabric.open),
        )

    with ThreadPoolExecutor(len(plan.workers)) as pool:
        return list(pool.map(one, plan.workers)), records


def test_ranks_that_know_only_a_folder_reduce(tmp_path):
    plan = rack_plan(3, job={"size_bytes": 20_000, "message_packets": 4, "iterations": 2})
    fabric = LockedFabric(aggregate=ArithmeticSpec())
    finished, records = run_ring(tmp_path, plan, fabric)
    assert finished == [True, True, True]
    assert digests(records) == expected_digests(plan)
    assert fabric.early == 0  # nobody sent before the queue pair at the other end was connected
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        f"1-{stage}-{rank}.json" for stage in ("connected", "done", "names") for rank in range(3)
    )


def test_a_worker_that_is_stopped_has_not_finished(tmp_path):
    plan = rack_plan(2, job={"size_bytes": 20_000})
    finished, _ = run_ring(tmp_path, plan, LockedFabric(aggregate=ArithmeticSpec()), stop=lambda: True)
    assert finished == [False, False]


def test_a_rank_on_our_own_endpoint_publishes_its_planned_names(tmp_path):
    plan = rack_plan(2)
    other = FolderExchange(tmp_path, 1, 1)
    other.publish("names", {"send_qpn": 71, "recv_qpn": 72, "base_va": 4096, "rkey": 9})
    mine = plan.workers[0]
    own = planned_names(mine)
    fields = {name: getattr(own, name) for name in ("send_qpn", "recv_qpn", "base_va", "rkey")}
    true = true_names(mine, FolderExchange(tmp_path, 1, 0), fields)
    assert (true.to_successor.qpn, true.to_successor.peer_qpn) == (mine.to_successor.qpn, 72)
    assert (true.from_predecessor.peer_qpn, true.collective.peer_base_va, true.collective.peer_rkey) == (71, 4096, 9)
    assert other.gather("names", (0,), 0) == {0: fields}


def test_a_device_needs_a_folder(tmp_path, capsys):
    (tmp_path / "h1.yaml").write_text(WORKER_TEXT, encoding="utf-8")
    assert main(["worker", "--config", str(tmp_path / "h1.yaml"), "--device", "rxe0"]) == 64
    assert "tb worker: --exchange: is missing; allowed: a folder, with --device" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--port", "eth0", "--device", "rxe0"]])
def test_one_endpoint_is_chosen(tmp_path, capsys, words):
    assert main(["worker", "--config", str(tmp_path / "h1.yaml"), *words]) == 64
    assert "--port" in capsys.readouterr().err
