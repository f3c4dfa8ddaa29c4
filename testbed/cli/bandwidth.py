"""`tb perf`: the bandwidth of a collective, as users of nccl-tests read it."""

from __future__ import annotations

import argparse
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from testbed.cli.console import Console
from testbed.cli.parsing import INTERRUPTED, Parser
from testbed.cli.progress import CliProgress
from testbed.cli.values import named_path, refused, seed, whole
from testbed.terminal.activity import doing
from testbed.terminal.stream import complain, shown_path
from workloads.errors import ScenarioError

if TYPE_CHECKING:
    from testbed.perf.request import PerfRequest

__all__ = ["configure_perf", "run_perf"]

_MEANS_NOTHING = {
    "-t/--nthreads": "a rank is a host of SCENARIO; --set topology.hosts=N changes their number",
    "-g/--ngpus": "a rank is a host of SCENARIO; --set topology.hosts=N changes their number",
    "-m/--agg_iters": "every iteration is one call",
    "-z/--blocking": "an iteration begins when the one before is over",
    "-G/--cudagraph": "there is no GPU",
    "-C/--report_cputime": "times are those of the network",
    "-a/--average": "an iteration lasts from its first rank's start to its last rank's result",
    "-p/--parallel_init": "connections are there before the traffic",
    "-R/--local_register": "buffers are always registered",
    "-c/--check": "every result is checked, bit for bit",
}
"""options of nccl-tests, and why they have no meaning here"""
_DEFAULT_SCENARIO = "rack"
_DEFAULT_CHANGES = (
    "topology.link.rate=100Gbps", "topology.link.delay=1us", "topology.link.mtu=9000", "transport.path_mtu=4096",
)  # fmt: skip
_DEFAULT_BYTES, _DEFAULT_STEP = 32 << 20, 1 << 20
_SMALL = (4, 4096)
"""bytes of `--latency`"""
_LATENCY_ITERATIONS = 200


class _Refused(argparse.Action):
    """An option of nccl-tests without a meaning here."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        parser.error(f"{'/'.join(self.option_strings)} of nccl-tests has no meaning here: {self.metavar}")


def configure_perf(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ./tb perf all_reduce -b 1K -e 64M -f 2
  ./tb perf all_reduce -b 1K -e 64M -f 2 --protocol netreduce,ring,switchml,atp -J perf.json
  ./tb perf all_reduce rack-lossy --world simulated -b 64K -e 64K -n 50
  ./tb perf all_reduce --latency --protocol netreduce,ring
  ./tb perf reduce_scatter -b 1K -e 64M -f 2
"""
    if isinstance(parser, Parser):
        parser.late = "scenario"
    parser.add_argument(
        "collective", metavar="COLLECTIVE",
        help="all_reduce, reduce_scatter, all_gather, alltoall, broadcast or reduce",
    )  # fmt: skip
    parser.add_argument(
        "scenario", metavar="SCENARIO", nargs="?",
        help="a built-in or a file (default: rack, simulated, with links of 100 Gbps and packets of 4096 bytes)",
    )  # fmt: skip
    for short, name, text in (
        ("-b", "--minbytes", "least size, as 1K (1024 bytes; default: 32M)"),
        ("-e", "--maxbytes", "largest size (default: 32M)"),
        ("-i", "--stepbytes", "a size is so much more than the one before (default: 1M)"),
    ):
        parser.add_argument(short, name, type=_bytes, metavar="SIZE", help=text)
    parser.add_argument("-f", "--stepfactor", type=whole(2, 1024), metavar="F", help="a size is F times the one before")
    parser.add_argument(
        "-n", "--iters", type=whole(1, 100_000), metavar="N",
        help="measured iterations (default: 20; in virtual time fewer of sizes above 102K)",
    )  # fmt: skip
    parser.add_argument(
        "-w", "--warmup_iters", type=whole(0, 1000), metavar="N",
        help="iterations before them (default: 1, or 0 where one iteration is measured by default)",
    )  # fmt: skip
    parser.add_argument("-d", "--datatype", choices=("float", "int32"), default="float", help="float or int32")
    parser.add_argument("-o", "--op", choices=("sum", "max"), default="sum", help="sum or max")
    parser.add_argument(
        "-r", "--root", type=whole(0, 1023), metavar="RANK", help="of broadcast and reduce (default: 0)"
    )
    parser.add_argument(
        "--protocol", dest="protocols", type=_names, default=(), metavar="P,P",
        help="each of them, as netreduce,ring (default: that of SCENARIO, or all that run COLLECTIVE)",
    )  # fmt: skip
    parser.add_argument("--world", metavar="W", help="emulated or simulated (default: that of SCENARIO)")
    parser.add_argument("--seed", type=seed, metavar="N", help="seed (default: that of SCENARIO)")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help="as in `tb run`"
    )
    parser.add_argument(
        "--latency", action="store_true",
        help="sizes from 4 to 4096 bytes, 200 iterations, and percentiles of their times",
    )  # fmt: skip
    parser.add_argument("-J", "--json", dest="document", type=named_path, metavar="FILE", help="also write JSON there")
    parser.add_argument("--jobs", type=whole(1, 1024), metavar="J", help="processes (default: one per processor)")
    parser.add_argument(
        "--out", metavar="DIR", type=named_path, help="where results are kept (default: runs/perf/SCENARIO)"
    )
    for words, reason in _MEANS_NOTHING.items():
        parser.add_argument(*words.split("/"), action=_Refused, nargs="?", metavar=reason, help=argparse.SUPPRESS)


def run_perf(args: argparse.Namespace) -> int:
    from testbed.kernel.interruption import interrupt_when_told_to_end
    from testbed.perf.document import perf_json
    from testbed.perf.request import resolved, sweep_of
    from testbed.perf.rows import rows_of
    from testbed.perf.table import table_lines
    from testbed.sweeps.forecast import Forecast
    from testbed.sweeps.scenario_engine import run_scenario_sweep
    from testbed.sweeps.where import computing
    from workloads.trusted import write_named

    began = _now()
    request, scenario = resolved(_request(args))
    folder = args.out or Path("runs") / "perf" / scenario.name
    if os.path.lexists(folder) and not folder.is_dir():
        raise ScenarioError("is no folder", file="tb perf", key="--out", found=str(folder), allowed="a folder")
    console = Console.of(args)
    interrupt_when_told_to_end()
    progress = CliProgress(Forecast(args.jobs or os.cpu_count(), lambda line: None, time.monotonic))
    try:
        with doing(progress.state):
            finished = run_scenario_sweep(sweep_of(request, scenario), folder, computing(args.jobs, None), progress)
    except KeyboardInterrupt:
        complain(f"tb: interrupted; the same command goes on where {shown_path(folder)} stands")
        return INTERRUPTED
    rows = list(rows_of(request, finished))
    tables = {protocol: [row for row in rows if row.protocol == protocol] for protocol in request.protocols}
    if args.document is not None:
        text = perf_json(request, scenario, tables, args=("tb", *args.words), began=began, ended=_now())
        write_named(args.document, text, key="--json")
    if console.verbosity >= 0:
        for protocol, table in tables.items():
            # Lines stay whole at any width: programs read them.
            for line in table_lines(request, scenario, protocol, table, latency=args.latency):
                print(line, file=console.stream)
    return finished.exit_code


def _request(args: argparse.Namespace) -> PerfRequest:
    from testbed.perf.request import PerfRequest
    from testbed.perf.sizes import sizes_between

    if args.stepfactor is not None and args.stepbytes is not None:
        raise ScenarioError("cannot be combined with -f", file="tb perf", key="-i", allowed="one of both")
    least, most = _SMALL if args.latency else (_DEFAULT_BYTES, _DEFAULT_BYTES)
    factor = 2 if args.latency and args.stepbytes is None and args.stepfactor is None else args.stepfactor
    step = args.stepbytes or _DEFAULT_STEP
    return PerfRequest(
        scenario=args.scenario or _DEFAULT_SCENARIO,
        sizes=sizes_between(args.minbytes or least, args.maxbytes or most, factor=factor, step=step),
        factor=factor,
        step=step,
        protocols=tuple(dict.fromkeys(args.protocols)),
        collective=args.collective,
        dtype=args.datatype,
        op=args.op,
        root=args.root,
        iterations=args.iters or (_LATENCY_ITERATIONS if args.latency else None),
        warmup=args.warmup_iters,
        world=args.world or (None if args.scenario else "simulated"),
        seed=args.seed,
        overrides=(*(() if args.scenario else _DEFAULT_CHANGES), *args.overrides),
    )


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")


def _bytes(text: str) -> int:
    from testbed.perf.sizes import SIZE_WORDS, parse_bytes

    size = parse_bytes(text)
    if not size:
        raise refused(text, SIZE_WORDS)
    return size


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise refused(text, "names with commas between them")
    return names
