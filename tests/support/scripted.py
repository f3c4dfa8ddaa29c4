"""Small networks in virtual time whose hosts send what a test says."""

from collections import deque

from testbed.plan import make_plan
from testbed.scenario import parse_scenario
from testbed.worlds.simulated.world import Simulation
from workloads.wire.dscp import dscp_of


def frame_to(target, source, size, dscp=0):
    """An IPv4 frame of so many bytes between two nodes of a topology."""
    length = size - 14
    ip = bytes([0x45, dscp << 2, length >> 8, length & 255, 0, 0, 0, 0, 64, 17, 0, 0]) + source.ip + target.ip
    return target.mac + source.mac + b"\x08\x00" + ip + bytes(size - 34)


class Scripted:
    """A host that offers frames from given times on, and notes what comes."""

    def __init__(self):
        self.plan = deque()
        self.came = []
        self._now = 0

    def receive_frame(self, port, frame, now):
        self.came.append((now, bytes(frame)))

    def frames_to_send(self, now):
        self._now = now
        while self.plan and self.plan[0][0] <= now:
            yield 0, self.plan.popleft()[1]

    def get_timer(self):
        return self.plan[0][0] if self.plan and self.plan[0][0] > self._now else None

    def handle_timer(self, now):
        self._now = now

    def next_event(self):
        return None

    def finish(self, now):
        pass


class Network:
    """`text`: a scenario file without name, world and job. All hosts are scripted."""

    def __init__(self, text, taps=None):
        whole = f"name: scripted\nworld: simulated\njob: {{protocol: ring, size: 4kB}}\n{text}"
        self.scenario = parse_scenario(whole, "test.yaml")
        self.plan = make_plan(self.scenario)
        self.records = []
        self.hosts = {}
        self.simulation = Simulation(self.plan, self.records.append, taps, employ=self._employ)

    def _employ(self, config, start_ns):
        self.hosts[config.name] = Scripted()
        return self.hosts[config.name]

    def send(self, source, target, count, size, at=0, layer_class=None):
        node = self.scenario.topology.node
        dscp = 0 if layer_class is None else dscp_of(layer_class, low=False)
        frame = frame_to(node(target), node(source), size, dscp)
        plan = self.hosts[source].plan
        plan.extend((at, bytes(frame)) for _ in range(count))
        self.hosts[source].plan = deque(sorted(plan, key=lambda entry: entry[0]))

    def run(self, until):
        """Until that time, and what the end reports."""
        self.simulation.start()
        self.simulation.agenda.run(until, lambda: True)
        self.simulation.finish()
        return self

    def came(self, host, size=None):
        """Times of frames that came to a host."""
        return [time for time, frame in self.hosts[host].came if size is None or len(frame) == size]

    def events(self, kind):
        return [record.event for record in self.records if isinstance(record.event, kind)]
