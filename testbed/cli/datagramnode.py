"""Hosts that talk in datagrams, from files: workers of `tb worker --config`, and `tb server`.

Types are checked by `nodeconfig`; what a Machine takes for granted is in the `checks` of its package.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from testbed.cli.driving import drive
from testbed.cli.running import require_raw_sockets
from testbed.plan.nodeconfig import place_errors, read_node_config, refuse_mistakes
from testbed.reading.problems import closest, show
from testbed.reading.yamlfile import parse_yaml, read_text
from testbed.scenario import names
from workloads.atp import AtpConfig
from workloads.atp.checks import mistakes_in_worker as atp_mistakes
from workloads.config import WorkerConfig
from workloads.datagrams.mistakes import Mistake, mistakes_in_workload
from workloads.errors import ScenarioError
from workloads.grid import GridConfig
from workloads.grid.checks import mistakes_in_grid_worker
from workloads.server import ServerConfig
from workloads.server.checks import mistakes_in_server
from workloads.switchml import SwitchMlConfig
from workloads.switchml.checks import mistakes_in_worker as switchml_mistakes

__all__ = ["DatagramConfig", "configure_server", "read_server_config", "read_worker_config", "run_server"]

DatagramConfig: TypeAlias = SwitchMlConfig | AtpConfig | GridConfig
_KINDS: dict[str, type[DatagramConfig]] = {
    "switchml": SwitchMlConfig,
    "atp": AtpConfig,
    "esa": AtpConfig,
    "grid": GridConfig,
}
"""by `collective.kind`; a file of any other kind is a WorkerConfig"""


def read_worker_config(path: Path) -> WorkerConfig | DatagramConfig:
    """Its class is chosen by the kind of collective that the file names. Raises ScenarioError."""
    data, _ = parse_yaml(read_text(path, str(path)), str(path))
    collective = data.get("collective") if isinstance(data, dict) else None
    kind = collective.get("kind") if isinstance(collective, dict) else None
    cls = _KINDS.get(kind) if isinstance(kind, str) else None
    if isinstance(kind, str) and kind not in names.COLLECTIVES:
        unknown = ScenarioError(
            "unknown value", key="collective.kind", found=show(kind), allowed=", ".join(names.COLLECTIVES),
            hint=closest(kind, names.COLLECTIVES),
        )  # fmt: skip
        raise place_errors(path, unknown)
    if cls is None:
        worker = read_node_config(path, WorkerConfig)
        refuse_mistakes(path, mistakes_in_workload(worker.workload))
        return worker
    config: DatagramConfig = read_node_config(path, cls)
    refuse_mistakes(path, _mistakes(config))
    return config


def read_server_config(path: Path) -> ServerConfig:
    """Raises ScenarioError."""
    config = read_node_config(path, ServerConfig)
    refuse_mistakes(path, mistakes_in_server(config))
    return config


def _mistakes(config: DatagramConfig) -> Iterator[Mistake]:
    if isinstance(config, SwitchMlConfig):
        return switchml_mistakes(config)
    return mistakes_in_grid_worker(config) if isinstance(config, GridConfig) else atp_mistakes(config)


def configure_server(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ip netns exec h5 ./tb server --config h5.yaml --port h5-eth0

FILE holds the fields of ServerConfig (workloads/server/config.py): name, envelope, jobs. JSON is YAML, so both will do.
SIGTERM ends it; docs/switch-node.md has it all.
"""
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="what this server is told")
    parser.add_argument("--port", required=True, metavar="IFACE", help="the host's interface")
    parser.add_argument(
        "--barrier", action="store_true",
        help="say on stdout when ready, start when a line comes on stdin, end when stdin does",
    )  # fmt: skip


def run_server(args: argparse.Namespace) -> int:
    config = read_server_config(args.config)
    require_raw_sockets("server")
    from workloads.datagrams.blocks import ServerStarted
    from workloads.hosts import create_host

    drive(
        create_host(config),
        [args.port],
        backpressure=True,
        until=lambda now: False,
        started=ServerStarted(tuple(job.job for job in config.jobs)),
        barrier=args.barrier,
    )
    return 0
