"""The lossless nodes of the emulated world, wired in memory, with injected time: what their data planes would do."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from itertools import count

from testbed.plan import make_plan
from testbed.scenario import parse_scenario
from testbed.worlds.emulated.lossless.machine import LosslessMachine
from testbed.worlds.emulated.lossless.nodes import lossless_host, lossless_switch
from tests.support.scripted import Scripted, frame_to
from workloads.machine import Event

__all__ = ["LosslessNodes"]

SLACK_NS = 80_000


class LosslessNodes:
    """`text`: as of tests.support.scripted.Network. `late(node)`: ns by which a node wakes up too late."""

    def __init__(self, text: str, late: Callable[[str], int] = lambda node: 0, slack_ns: int = SLACK_NS) -> None:
        whole = f"name: scripted\nworld: emulated\ndilation: 50\njob: {{protocol: ring, size: 4kB}}\n{text}"
        self.scenario = replace(parse_scenario(whole, "test.yaml"), capture=False)
        self.plan, self._late = make_plan(self.scenario), late
        topology = self.scenario.topology
        self.hosts = {host.name: Scripted() for host in topology.hosts}
        self.machines: dict[str, LosslessMachine] = {}
        for name, host in self.hosts.items():
            self.machines[name] = lossless_host(self.plan, name, lambda host=host: host, slack_ns)  # type: ignore[misc]
        for config in self.plan.switches:
            self.machines[config.name] = lossless_switch(self.plan, config, None, slack_ns)
        self._ends = {}
        for link in topology.links:
            a, b = (link.a, link.a_port), (link.b, link.b_port)
            self._ends[a], self._ends[b] = b, a
        self.told: list[tuple[int, str, Event]] = []
        self.now = 0

    def send(self, source: str, target: str, number: int, size: int, at: int = 0) -> None:
        node = self.scenario.topology.node
        frame = frame_to(node(target), node(source), size)
        plan = self.hosts[source].plan
        plan.extend((at, bytes(frame)) for _ in range(number))
        self.hosts[source].plan = deque(sorted(plan, key=lambda entry: entry[0]))

    def run(self, until: int) -> LosslessNodes:
        """Until that time, and what the end reports."""
        coming = {name: deque[tuple[int, int, bytes]]() for name in self.machines}
        wakes, order = [(0, number, name) for number, name in enumerate(self.machines)], count(len(self.machines))
        planned = dict.fromkeys(self.machines, 0)
        while wakes and wakes[0][0] <= until:
            now, _, name = heapq.heappop(wakes)
            if planned[name] != now:
                continue
            self.now, machine = now, self.machines[name]
            while coming[name]:
                _, port, frame = coming[name].popleft()
                machine.receive_frame(port, frame, now)
            machine.handle_timer(now)
            touched = {name}
            for port, frame in machine.frames_to_send(now):
                far, far_port = self._ends[name, port]
                coming[far].append((now, far_port, bytes(frame)))
                touched.add(far)
            self._note(now, name)
            for each in touched:
                timer = self.machines[each].get_timer()
                due = [at for at, _, _ in list(coming[each])[:1]] + ([] if timer is None else [timer])
                if due:
                    wake = max(now, min(due)) + self._late(each)
                    if each == name or planned[each] < 0 or wake < planned[each]:
                        planned[each] = wake
                        heapq.heappush(wakes, (wake, next(order), each))
                elif each == name:
                    planned[each] = -1
        for name, machine in self.machines.items():
            machine.finish(until)
            self._note(until, name)
        return self

    def came(self, host: str) -> list[int]:
        return [time for time, _ in self.hosts[host].came]

    def events(self, kind: type) -> list[Event]:
        return [event for _, _, event in self.told if isinstance(event, kind)]

    def _note(self, now: int, name: str) -> None:
        while (event := self.machines[name].next_event()) is not None:
            self.told.append((now, name, event))
