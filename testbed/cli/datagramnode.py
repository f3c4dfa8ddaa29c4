"""Hosts that talk in datagrams, from files: workers of `tb worker --config`, and `tb server`.

Types are checked by `nodeconfig`; here is what a Machine takes for granted.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from testbed.cli.nodeconfig import read_node_config
from testbed.cli.running import require_raw_sockets
from testbed.scenario.yamlfile import parse_yaml, read_text
from workloads.atp import AtpConfig
from workloads.config import WorkerConfig
from workloads.errors import ScenarioError
from workloads.grid import GridConfig
from workloads.server import ServerConfig
from workloads.switchml import SwitchMlConfig
from workloads.wire.aggregation import MAX_ELEMENTS, MAX_GRID_ELEMENTS

__all__ = ["DatagramConfig", "configure_server", "read_server_config", "read_worker_config", "run_server"]

DatagramConfig: TypeAlias = SwitchMlConfig | AtpConfig | GridConfig
_KINDS: dict[str, type[DatagramConfig]] = {
    "switchml": SwitchMlConfig,
    "atp": AtpConfig,
    "esa": AtpConfig,
    "grid": GridConfig,
}
"""by `collective.kind`; a file of any other kind is a WorkerConfig"""
_MOST_WORKERS, _INDICES = 32, 1 << 16
_Wrong = tuple[str, object, str]
"""(key, found, allowed)"""


def read_worker_config(path: Path) -> WorkerConfig | DatagramConfig:
    """Its class is chosen by the kind of collective that the file names. Raises ScenarioError."""
    data, _ = parse_yaml(read_text(path, str(path)), str(path))
    collective = data.get("collective") if isinstance(data, dict) else None
    kind = collective.get("kind") if isinstance(collective, dict) else None
    cls = _KINDS.get(kind) if isinstance(kind, str) else None
    if cls is None:
        return read_node_config(path, WorkerConfig)
    config: DatagramConfig = read_node_config(path, cls)
    _refuse(path, _wrong_in_worker(config))
    return config


def read_server_config(path: Path) -> ServerConfig:
    """Raises ScenarioError."""
    config = read_node_config(path, ServerConfig)
    _refuse(path, _wrong_in_server(config))
    return config


def _refuse(path: Path, wrong: Iterator[_Wrong]) -> None:
    for key, found, allowed in wrong:
        raise ScenarioError("cannot be", file=str(path), key=key, found=str(found), allowed=allowed)


def _wrong_in_worker(config: DatagramConfig) -> Iterator[_Wrong]:
    share = config.collective
    if not 1 <= share.size <= _MOST_WORKERS:
        yield "collective.size", share.size, f"1 .. {_MOST_WORKERS}, the width of the bitmap"
    if share.rank >= share.size:
        yield "collective.rank", share.rank, f"0 .. {share.size - 1}"
    if share.arithmetic.op != "sum":
        yield "collective.arithmetic.op", share.arithmetic.op, "sum"
    if config.workload.elements < 1:
        yield "workload.elements", config.workload.elements, "1 or more"
    most = MAX_GRID_ELEMENTS if isinstance(config, GridConfig) else MAX_ELEMENTS
    most = config.most_elements if isinstance(config, SwitchMlConfig) else most
    yield from _wrong_in_blocks("", config.elements, config.window, most)
    if isinstance(config, AtpConfig) and not 1 <= config.memory <= _INDICES:
        yield "memory", config.memory, f"1 .. {_INDICES}"


def _wrong_in_blocks(place: str, elements: int, window: int, most: int) -> Iterator[_Wrong]:
    if elements % 2 or not 2 <= elements <= most:
        yield f"{place}elements", elements, f"an even number, 2 .. {most}"
    if not 1 <= window <= _INDICES:
        yield f"{place}window", window, f"1 .. {_INDICES}"


def _wrong_in_server(config: ServerConfig) -> Iterator[_Wrong]:
    ids = [job.job for job in config.jobs]
    for index, job in enumerate(config.jobs):
        place = f"jobs[{index}]."
        if job.job in ids[:index]:
            yield f"{place}job", job.job, "an id of its own"
        if job.kind not in ("atp", "esa", "grid"):
            yield f"{place}kind", repr(job.kind), "atp, esa, grid"
        if not 1 <= len(job.members) <= _MOST_WORKERS:
            yield f"{place}members", len(job.members), f"1 .. {_MOST_WORKERS} workers, the width of the bitmap"
        ranks = [member.rank for member in job.members]
        if ranks != list(range(len(ranks))):
            yield f"{place}members", ranks, f"in rank order, 0 .. {len(ranks) - 1}"
        most = MAX_GRID_ELEMENTS if job.kind == "grid" else MAX_ELEMENTS
        yield from _wrong_in_blocks(place, job.elements, job.window, most)
        if not 1 <= job.memory <= _INDICES:
            yield f"{place}memory", job.memory, f"1 .. {_INDICES}"


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
    from testbed.cli.nodes import drive
    from workloads.blocks import ServerStarted
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
