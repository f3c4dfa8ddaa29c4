"""A network for four ranks in this process: a server in a thread of its own."""

import threading

from testbed.train.planning import TrainingSource, training_plan
from testbed.train.server import RankServer, ServerOptions
from testbed.train.simulated import SimulatedNetwork
from workloads.ranks.client import RankClient

MEMORY = 1 << 20
SIZE = 4


class Fabric:
    """A server in a thread of its own, for four ranks."""

    def __init__(
        self, folder, *, timeout_s=20.0, memory=MEMORY, scenario="rack", carries_all=False, changes=(), recorder=None
    ):
        """`carries_all`: no collective crosses the store."""
        self.path, self.events, self._stop = folder / "s", [], threading.Event()
        self._source = TrainingSource(scenario, changes)
        self.records = []
        options = ServerOptions(memory, timeout_s, f"{scenario}, simulated", carries_all)
        self.server = RankServer(self.path, SIZE, options, self._make, self.events.append, recorder)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _make(self, first_bytes):
        self.plan = training_plan(self._source.sized(max(4096, first_bytes)))
        return SimulatedNetwork(self.plan, self.records.append)

    def _run(self):
        while not self._stop.is_set():
            self.server.poll(0.02)

    def rank(self, number, size=SIZE):
        return RankClient(str(self.path), number, size)

    def close(self):
        self._stop.set()
        self._thread.join()
        self.server.close()
