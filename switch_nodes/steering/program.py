"""A commodity switch in software that obeys flow rules (program `steer`), with a small controller of its own. When a
port loses its carrier, the controller makes the rules again, with the fallback when the port led to the accelerator."""

from __future__ import annotations

from collections import deque

from switch_nodes.config import SwitchConfig
from switch_nodes.events import RulesReplaced
from switch_nodes.forwarding import is_link_local
from switch_nodes.forwarding.equal_cost import choose_port
from switch_nodes.program import ProgramBase
from switch_nodes.steering.rules import FLOOD, FlowRule
from switch_nodes.steering.steer import Priority, falls_back, steering_rules
from switch_nodes.steering.table import FlowTable, fields_of
from workloads.errors import ScenarioError
from workloads.machine import Buffer
from workloads.wire.places import IP_AT

__all__ = ["SteerProgram"]

_HEADER_BYTES = IP_AT


class SteerProgram(ProgramBase):
    """Counters: steered (led to the accelerator), forwarded, flooded, withheld (data of a job that the fallback drops),
    runt. Another one is filtered (no rule, no port, or only the port it came from)."""

    counter_names: tuple[str, ...] = ("steered", "forwarded", "flooded", "withheld", "filtered", "runt")

    def __init__(self, config: SwitchConfig) -> None:
        """Raises ScenarioError without `steering`, and for a port that does not exist."""
        super().__init__(config)
        if config.steering is None:
            raise ScenarioError(f"switch {config.name}: program steer has nothing to make rules from", key="steering")
        self.steering = config.steering
        _check_ports(config)
        self._flood_ports = tuple(range(config.ports)) if config.flood_ports is None else config.flood_ports
        self._down: frozenset[int] = frozenset()
        self._changes = deque(sorted(config.carrier, key=lambda change: change.at_ns))
        self.set_down(frozenset(), "start")

    def set_down(self, down: frozenset[int], reason: str) -> None:
        """From now on the ports `down` have no carrier: new rules."""
        self._down = down
        rules = steering_rules(self.steering, down)
        self.table = FlowTable(rules)
        self.tell(RulesReplaced(reason, tuple(sorted(down)), falls_back(self.steering, down), len(rules)))

    def get_timer(self) -> int | None:
        return self._changes[0].at_ns if self._changes else None

    def handle_timer(self, now: int) -> None:
        while self._changes and self._changes[0].at_ns <= now:
            change = self._changes.popleft()
            down = self._down - {change.port} if change.up else self._down | {change.port}
            if down != self._down:
                self.set_down(down, f"port {change.port} is {'up' if change.up else 'down'}")

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        if len(frame) < _HEADER_BYTES:
            self.count("runt")
            return
        rule = self.table.find(fields_of(port, frame))
        if rule is None:
            self.count("filtered")
        elif rule.outputs == (FLOOD,):
            self._flood(port, bytes(frame))
        else:
            self._obey(rule, port, frame)

    def _obey(self, rule: FlowRule, port: int, frame: Buffer) -> None:
        steers = rule.priority == Priority.STEER
        if not rule.outputs:
            self.count("withheld" if steers else "filtered")
            return
        if rule.copies:
            self.count("forwarded")
            for out in rule.outputs:
                if out != port:
                    self.emit(out, bytes(frame))
            return
        several = len(rule.outputs) > 1
        out = choose_port(rule.outputs, frame, self.config.flow_salt) if several else rule.outputs[0]
        if out == port:
            self.count("filtered")
            return
        self.count("steered" if steers else "forwarded")
        self.emit(out, bytes(frame))

    def _flood(self, port: int, frame: bytes) -> None:
        if port not in self._flood_ports or is_link_local(frame[:6]):
            self.count("filtered")
            return
        self.count("flooded")
        for other in self._flood_ports:
            if other != port and other not in self._down:
                self.emit(other, frame)


def _check_ports(config: SwitchConfig) -> None:
    assert config.steering is not None
    steering = config.steering
    named = [port for host in steering.hosts for port in host.ports]
    named += [port for edge in steering.edges for port in (*edge.in_ports, edge.port)]
    named += [port for route in steering.routes for port in route.ports]
    named += [*steering.accelerator_ports, *(config.flood_ports or ()), *(change.port for change in config.carrier)]
    for port in named:
        if not 0 <= port < config.ports:
            raise ScenarioError(
                f"switch {config.name}: a rule names a port that does not exist",
                found=str(port),
                allowed=f"0 .. {config.ports - 1}",
            )
    for edge in steering.edges:
        if edge.port not in steering.accelerator_ports:
            raise ScenarioError(
                f"switch {config.name}: edge {edge.name} is led to a port without accelerator",
                found=str(edge.port),
                allowed=", ".join(map(str, steering.accelerator_ports)) or None,
            )
        if set(edge.in_ports) & set(steering.accelerator_ports):
            raise ScenarioError(f"switch {config.name}: edge {edge.name} is led to the accelerator that it comes from")
