"""Hosts that talk in datagrams, from files: workers of `tb worker --config`, and `tb server`.

Types are checked by `nodeconfig`; what a Machine takes for granted is in the `checks` of its package.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from testbed.cli.driving import NodeOrders, drive
from testbed.cli.running import require_raw_sockets
from testbed.plan.nodeconfig import making_a_node, place_errors, read_node_config, refuse_problems
from testbed.reading.problems import closest, show
from testbed.reading.yamlfile import parse_yaml, read_text
from testbed.scenario.checks.contract import scenario_protocol
from testbed.scenario.protocols import names
from workloads.config import HostConfig, WorkerConfig
from workloads.datagrams.problems import problems_in_workload
from workloads.errors import ScenarioError
from workloads.server import ServerConfig
from workloads.server.checks import problems_in_server

__all__ = ["read_server_config", "read_worker_config", "run_server"]


def read_worker_config(path: Path) -> HostConfig:
    """Its class is chosen by the kind of collective that the file names. Raises ScenarioError."""
    data, _ = parse_yaml(read_text(path, str(path)), str(path))
    collective = data.get("collective") if isinstance(data, dict) else None
    kind = collective.get("kind") if isinstance(collective, dict) else None
    if isinstance(kind, str) and kind not in names.PROTOCOLS:
        unknown = ScenarioError(
            "unknown value", key="collective.kind", found=show(kind), allowed=", ".join(names.PROTOCOLS),
            hint=closest(kind, names.PROTOCOLS),
        )  # fmt: skip
        raise place_errors(path, unknown)
    protocol = scenario_protocol(kind) if isinstance(kind, str) else None
    if protocol is None or protocol.worker is None:
        worker = read_node_config(path, WorkerConfig)
        refuse_problems(path, problems_in_workload(worker.workload))
        return worker
    config: HostConfig = read_node_config(path, protocol.worker)
    refuse_problems(path, protocol.worker_problems(config))
    return config


def read_server_config(path: Path) -> ServerConfig:
    """Raises ScenarioError."""
    config = read_node_config(path, ServerConfig)
    refuse_problems(path, problems_in_server(config))
    return config


def run_server(args: argparse.Namespace) -> int:
    config = read_server_config(args.config)
    require_raw_sockets("server")
    from workloads.datagrams.blocks import ServerStarted
    from workloads.hosts import create_host

    with making_a_node(args.config):
        server = create_host(config)
    drive(
        server,
        [args.port],
        backpressure=True,
        until=lambda now: False,
        started=ServerStarted(tuple(job.job for job in config.jobs)),
        orders=NodeOrders(barrier=args.barrier),
    )
    return 0
