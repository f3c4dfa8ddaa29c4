"""Of `tb switch` and `tb worker`."""

from __future__ import annotations

import argparse

from testbed.cli.values import duration, named_path, whole

__all__ = ["configure_switch", "configure_worker"]


def configure_switch(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ip netns exec s1 ./tb switch --program forward --port s1-eth1 --port s1-eth2
  ip netns exec s1 ./tb switch --program netreduce --port s1-eth1 --port s1-eth2 --config rings.yaml

FILE holds fields of SwitchConfig (switch_nodes/config.py): name, macs, rings, release, gate, trace, groups, flow_salt,
spray, flood_ports, hairpin, steering, carrier, jobs, memory, knobs, grid. JSON is YAML, so both will do. SIGHUP reads
its rings again, SIGUSR1 prints the statistics so far, SIGTERM ends it. docs/switch-node.md has it all.
"""
    parser.add_argument("--program", required=True, metavar="P", help="`tb list programs`, or path.py:Class")
    parser.add_argument(
        "--port",
        dest="ports",
        action="append",
        required=True,
        metavar="IFACE",
        help="an interface; the first is port 0",
    )
    parser.add_argument(
        "--config",
        type=named_path,
        metavar="FILE",
        help="the configuration of the program, as rings or jobs (default: none)",
    )


def configure_worker(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ip netns exec h1 ./tb worker --config h1.yaml --port h1-eth0
  ./tb worker --config h1.yaml --device mlx5_0 --exchange /mnt/job17

FILE holds the fields of WorkerConfig (workloads/config.py); where its collective.kind is switchml, atp, esa or grid,
those of SwitchMlConfig, AtpConfig or GridConfig (docs/switch-node.md). JSON is YAML, so both will do. With --device the
endpoint is an RDMA device (docs/verbs.md); it chooses queue pair numbers and keys, so the ranks tell each other theirs in --exchange.
"""  # noqa: E501
    parser.add_argument(
        "--config", type=named_path, required=True, metavar="FILE", help="the configuration of this worker"
    )
    endpoint = parser.add_mutually_exclusive_group(required=True)
    endpoint.add_argument("--port", metavar="IFACE", help="the host's interface, for an endpoint of our own")
    endpoint.add_argument("--device", metavar="NAME", help="an RDMA device, as rxe0 or mlx5_0")
    parser.add_argument(
        "--exchange",
        type=named_path,
        metavar="DIR",
        help="an empty folder that all ranks see; needed if any has --device",
    )
    parser.add_argument(
        "--barrier", action="store_true",
        help="say on stdout when ready, start when a line comes on stdin, end when stdin does",
    )  # fmt: skip
    parser.add_argument(
        "--capture",
        type=named_path,
        metavar="FILE",
        help="with --port: what the interface sends and gets, as pcapng (200 MB at most)",
    )
    parser.add_argument(
        "--dilation", type=whole(1, 1000), default=1, metavar="K",
        help="with --port: a second of its time takes K real seconds (1)",
    )  # fmt: skip
    parser.add_argument(
        "--linger", type=duration(), default=2_000_000_000, metavar="TIME", help="answer peers that long when done (2s)"
    )
