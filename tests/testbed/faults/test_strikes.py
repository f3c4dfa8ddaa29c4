from __future__ import annotations

from testbed.faults.events import FaultHealed, FaultStruck
from testbed.faults.strikes import backends_used, strikes
from workloads.machine import event_record


def test_strikes_and_backends() -> None:
    def struck(fault: str, backend: str) -> dict[str, object]:
        return event_record(FaultStruck(fault, "loss", backend, "h1-s1", "up", "", -1, 0, 1))

    records = [struck("b", "user"), struck("a", "ebpf"), struck("b", "ebpf"), event_record(FaultHealed("b", "h1-s1"))]
    assert strikes(records, ["a", "never"]) == {"a": 1, "never": 0, "b": 2}
    assert list(strikes(records, ["a", "never"])) == ["a", "never", "b"]
    assert backends_used(records) == {"b": ("user", "ebpf"), "a": ("ebpf",)}
