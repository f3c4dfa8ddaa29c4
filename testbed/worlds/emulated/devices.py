"""Hosts on RDMA devices (`nics` of a scenario): what must be there, the device on the host's interface, and its worker.

A device chooses queue pair numbers, keys and addresses itself. So these hosts start before all others and tell theirs;
then every node gets the plan with the true names.
"""

from __future__ import annotations

import platform
import select
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from testbed.kernel.rxe import add_rxe, has_rxe, load_rxe
from testbed.plan import Plan, with_workers
from testbed.worlds.emulated.control import Message, NodeChannel
from testbed.worlds.emulated.node import NodeTask
from workloads.codec import PLAIN
from workloads.config import WorkerConfig
from workloads.errors import HostCapabilityError, InternalError
from workloads.machine import Event
from workloads.verbs.gids import device_names
from workloads.verbs.names import VerbsNames, true_configs

__all__ = ["DeviceLoop", "agree", "build_device_host", "device_of", "plan_with_names", "require_devices"]

_LONGEST_SLEEP_NS = 5_000_000


class Worker(Protocol):
    """What is asked of a `VerbsWorker`."""

    names: VerbsNames

    def connect(self, config: WorkerConfig) -> None: ...
    def get_timer(self) -> int | None: ...
    def handle_timer(self, now: int) -> None: ...
    def next_event(self) -> Event | None: ...
    def finish(self, now: int) -> None: ...
    def close(self) -> None: ...


def require_devices(
    nics: Sequence[tuple[str, str]],
    names: Callable[[], Sequence[str]] = device_names,
    rxe: Callable[[], bool] = has_rxe,
) -> None:
    """Every device is there, or can be made. Raises HostCapabilityError for the first that cannot."""
    for host, device in nics:
        here = names()
        if device not in here and not rxe():
            raise HostCapabilityError(
                f"the RDMA device {device} of {host} (nics.{host}); devices here: {', '.join(here) or 'none'}, and the "
                f"kernel {platform.release()} has no rdma_rxe to make one",
                f"a card of that name, a kernel with rdma_rxe, or nics.{host}: soft; `tb interop` runs unmodified "
                "endpoints on a stock kernel under QEMU",
            )


def device_of(plan: Plan, host: str) -> str | None:
    """None: the host is on our own endpoint."""
    return dict(plan.scenario.nics).get(host)


def plan_with_names(plan: Plan, names_by_host: Mapping[str, Message]) -> Plan:
    """The plan with the names that devices chose. `names_by_host`: by host, `VerbsNames` as JSON values."""
    ranks = {worker.name: rank for rank, worker in enumerate(plan.ring_workers)}
    names = {ranks[host]: PLAIN.decode(VerbsNames, values) for host, values in names_by_host.items()}
    return with_workers(plan, true_configs(plan.ring_workers, names))


def agree(plan: Plan, channel: NodeChannel, own: VerbsNames) -> Plan | None:
    """Tell our names and wait for those of the others; None when we are to stop instead."""
    names_by_host = channel.exchange_names(PLAIN.encode(own))
    return None if names_by_host is None else plan_with_names(plan, names_by_host)


def build_device_host(
    task: NodeTask,
    channel: NodeChannel,
    *,
    open_worker: Callable[[WorkerConfig, str, Any], Worker] | None = None,
    attach: Callable[[str, str], None] | None = None,
) -> DeviceLoop:
    """In the host's namespace: its device (made on its interface, unless it is there), the worker, its neighbours'
    names. Raises HostCapabilityError as `VerbsWorker` and `add_rxe` do."""
    from workloads.gradients import create_source
    from workloads.verbs import VerbsWorker

    device = device_of(task.plan, task.node.name)
    assert device is not None, "the caller looked"
    (attach or _attach)(device, task.interfaces[0])
    config = _config_of(task.plan, task.node.name)
    collective = config.collective
    source = create_source(config.workload, collective.rank, collective.size, collective.arithmetic.dtype)
    worker: Worker = (open_worker or VerbsWorker)(config, device, source)
    plan = agree(task.plan, channel, worker.names)
    if plan is None:
        worker.close()
        raise InternalError(f"{task.node.name} was stopped before its neighbours had reported their names")
    worker.connect(_config_of(plan, task.node.name))
    return DeviceLoop(worker, channel)


def _config_of(plan: Plan, host: str) -> WorkerConfig:
    return next(worker for worker in plan.ring_workers if worker.name == host)


def _attach(device: str, interface: str) -> None:
    if device not in device_names():
        load_rxe()
        add_rxe(device, interface)


class DeviceLoop:
    """A NodeLoop: the device has the frames, so there are only completions to poll."""

    backend = "verbs"

    def __init__(self, worker: Worker, channel: NodeChannel) -> None:
        self._worker, self._channel = worker, channel
        self._stopped_at = 0

    def run(self, origin_ns: int) -> None:
        while True:
            now = time.monotonic_ns() - origin_ns
            due = self._worker.get_timer()
            if due is not None and due <= now:
                self._worker.handle_timer(now)
                due = self._worker.get_timer()
            while (event := self._worker.next_event()) is not None:
                self._channel.on_event(now, event)
            pause = _LONGEST_SLEEP_NS if due is None else max(0, min(_LONGEST_SLEEP_NS, due - now))
            ready, _, _ = select.select([self._channel.socket], [], [], pause / 1e9)
            if ready and not self._channel.on_control():
                break
        self._stopped_at = time.monotonic_ns() - origin_ns

    def finish(self) -> Iterator[tuple[int, Event]]:
        self._worker.finish(self._stopped_at)
        while (event := self._worker.next_event()) is not None:
            yield self._stopped_at, event
        self._worker.close()
