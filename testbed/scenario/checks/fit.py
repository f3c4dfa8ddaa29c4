"""What must hold between the keys of a scenario: does the job fit the network, the switch and the transport?"""

from __future__ import annotations

from dataclasses import fields

from switch_nodes.jobs import AggregatorKnobs
from switch_nodes.kinds import program_kinds, uses
from switch_nodes.program_files import look_for_program
from testbed.reading.problems import KeyPath, Problems, closest, show
from testbed.reading.units import format_size
from testbed.scenario.checks.contract import scenario_protocol
from testbed.scenario.geometry import largest_packet
from testbed.scenario.keys.clocks import TRUE_CLOCKS, Clocks
from testbed.scenario.keys.job import Job
from testbed.scenario.keys.switch import SwitchOptions
from testbed.scenario.keys.transport import Transport
from testbed.scenario.overrides import SET_FILE
from testbed.scenario.protocols.known import names_where, protocol_of, protocols
from testbed.scenario.protocols.names import PROGRAMS, ROCE_PATH_MTUS
from topologies import LinkShape, Topology, attachment
from workloads.collectives.operations import ALL_REDUCE, BARRIER, OPERATIONS
from workloads.errors import ScenarioError
from workloads.rc.numbers import MOST_APART

__all__ = [
    "check_clocks",
    "check_commodity",
    "check_job",
    "check_job_hosts",
    "check_knobs",
    "check_mtu",
    "check_operation",
    "check_path_mtu",
    "check_program",
    "check_switch_memory",
]

_SWITCH_MEMORY = 1 << 30


def check_clocks(problems: Problems, world: str, clocks: Clocks) -> None:
    """In a world with real time every node reads the clock of the machine."""
    if clocks != TRUE_CLOCKS and world != "simulated":
        problems.add(
            ("clocks",),
            "only the simulated world has clocks of its own",
            found=f"world {world}",
            allowed="world: simulated (or --world simulated)",
        )


def check_commodity(problems: Problems, switch: SwitchOptions, topology: Topology) -> None:
    """A kind of commodity switch needs one: a switch that aggregates is ours."""
    kind = program_kinds().get(switch.program)
    plain = kind is not None and (kind.some_only_forward or not kind.sums)
    if switch.commodity != "soft" and not plain and attachment(topology) is None:
        problems.add(
            ("switch", "commodity"),
            "no switch of this network is a commodity switch",
            found=f"'{switch.commodity}', and program {switch.program} on every switch",
            allowed="topology.kind: rack_accelerator, or switch.program: forward",
        )


def check_path_mtu(problems: Problems, job: Job, transport: Transport) -> None:
    """Datagrams say themselves what is too long for them."""
    if protocol_of(job.protocol).repairs_losses() and transport.path_mtu not in ROCE_PATH_MTUS:
        larger = names_where(lambda each: each.largest_mtu() >= transport.path_mtu)
        problems.add(
            ("transport", "path_mtu"),
            "RoCE has no such MTU",
            found=str(transport.path_mtu),
            allowed=f"{', '.join(map(str, ROCE_PATH_MTUS))} (job.protocol: {', '.join(larger)} also takes "
            f"{transport.path_mtu})",
        )


def check_mtu(problems: Problems, topology: Topology, shape: LinkShape, job: Job, transport: Transport) -> None:
    """Every link must carry the largest packet whole: nothing is fragmented."""
    need, sum_text = largest_packet(job, transport)

    def tell(path: KeyPath, mtu: int) -> None:
        problems.add(
            path,
            f"one packet of path_mtu {transport.path_mtu} does not fit",
            found=str(mtu),
            allowed=f"{need} or more ({sum_text})",
        )

    if shape.mtu < need and any(link.shape.mtu == shape.mtu for link in topology.links):
        tell(("topology", "link", "mtu"), shape.mtu)
    for index, link in enumerate(topology.links):
        if link.shape.mtu < need and link.shape.mtu != shape.mtu:
            place = index if topology.kind == "custom" else link.name
            tell(("topology", "links", place, "mtu"), link.shape.mtu)


def check_program(problems: Problems, switch: SwitchOptions, job: Job) -> None:
    """Sums are made once: by the switch, or by the hosts. A program from a file is code: only a person may name it, in
    `--set`, never a scenario file."""
    path = ("switch", "program")
    if ":" in switch.program:
        if problems.place(path).file != SET_FILE:
            problems.add(
                path,
                "a scenario file cannot name code to run",
                found=f"'{switch.program}'",
                allowed=", ".join(PROGRAMS),
                hint=f"give it on the command line: --set switch.program={switch.program}",
            )
            return
        try:
            look_for_program(switch.program)
        except ScenarioError as error:
            problems.add(path, error.problem, found=error.found, allowed=error.allowed)
        return
    wanted = protocol_of(job.protocol).programs
    if switch.program not in wanted:
        here = path if path in problems.places else ("job", "protocol")
        problems.add(
            here,
            f"protocol {job.protocol} does not run over program {switch.program}",
            allowed=f"switch.program: {', '.join(wanted)}",
            hint="or another job.protocol",
        )


def check_knobs(problems: Problems, switch: SwitchOptions, job: Job) -> None:
    """What is turned must be there; a knob as it comes is nothing that anybody asked for. Programs of the user's own
    may heed any."""
    if ":" in switch.program:
        return
    kind = program_kinds().get(switch.program)
    known = kind.knobs if kind is not None else ()
    if kind is not None and not kind.sums:
        known = scenario_protocol(job.protocol).server_knobs()
    for knob in fields(AggregatorKnobs):
        found = getattr(switch.knobs, knob.name)
        if found != knob.default and knob.name not in known:
            problems.add(
                ("switch", "knobs", knob.name),
                f"program {switch.program} has no such knob",
                found=show(found),
                allowed=", ".join(known) or "no knobs: leave the key out",
            )


def check_job(problems: Problems, hosts: int | None, job: Job, given: set[str], path: KeyPath = ("job",)) -> None:
    """`given`: keys that the file holds at `path`."""
    if job.size_bytes % 4 and OPERATIONS[job.operation].sums:
        found = f"{job.size_bytes} bytes"
        problems.add((*path, "size"), "not a whole number of elements", found=found, allowed="a multiple of 4 bytes")
    known = protocol_of(job.protocol)
    sums_alone = known.operations() == (ALL_REDUCE,)
    # An all-reduce of whole vectors is never empty; where it stands for another operation, an element stands for none.
    if job.size_bytes == 0 and (sums_alone or (job.operation == ALL_REDUCE and known.sends_zeros(BARRIER))):
        problems.add((*path, "size"), "out of range", found="0 bytes", allowed="4 bytes to 4GiB")
    protocol = protocol_of(job.protocol)
    if job.workload == "special" and job.dtype == "float32" != protocol.wire_dtype(job.dtype):
        problems.add(
            (*path, "workload"),
            f"floats of {job.protocol} travel as integers, and an infinity or a NaN is none",
            found="'special'",
            allowed="extreme, synthetic, digits; or special with int32",
        )
    if job.workload == "digits":
        allowed = {"dtype": (job.dtype, "float32"), "op": (job.op, "sum")}
        for key, (found, only) in allowed.items():
            if found != only and (key != "op" or path == ("job",)):
                problems.add((*path, key), "workload digits trains with float32 sums", found=f"'{found}'", allowed=only)
        for key in ("size", "model", "layers", "stages"):
            if key in given or (key == "model" and job.model is not None and "layers" not in given):
                problems.add((*path, key), "workload digits has the size of its model", allowed="leave the key out")
        if not protocol.result().is_sum:
            problems.add(
                (*path, "protocol"), f"{job.protocol} sums nothing to train with", found=f"'{job.protocol}'",
                allowed=", ".join(names_where(lambda each: each.result().is_sum)),
            )  # fmt: skip
    summing = [job.protocol, job.runs] if job.fallback == "none" else [job.protocol, job.fallback]
    why_not = next(filter(None, (scenario_protocol(each).why_no_clamping() for each in summing)), "")
    if why_not and (job.op, job.dtype) == ("sum", "int32sat"):
        problems.add(
            (*path, "dtype"),
            why_not,
            found="'int32sat'",
            allowed="float32, int32",
        )
    if hosts is not None and job.straggle_rank is not None and job.straggle_rank >= hosts:
        problems.add(
            (*path, "straggler", "rank"),
            "no such rank",
            found=str(job.straggle_rank),
            allowed=f"0 to {hosts - 1} ({hosts} hosts)",
        )


def check_operation(problems: Problems, job: Job, hosts: int | None, given: set[str], *, has_entries: bool) -> None:
    """`given`: keys that the file holds in `job`; `has_entries`: whether it has `jobs`."""
    if has_entries and job.operation != ALL_REDUCE:
        problems.add(
            ("job", "operation"), "the entries of `jobs` only sum", found=f"'{job.operation}'",
            allowed=f"{ALL_REDUCE}, or job.copies instead of `jobs`",
        )  # fmt: skip
    operation, allowed = OPERATIONS[job.operation], protocol_of(job.protocol).operations()
    if job.operation not in allowed:
        able = [each.name for each in protocols() if job.operation in each.operations()]
        problems.add(
            ("job", "operation"), f"{job.protocol} does not run it", found=f"'{job.operation}'",
            allowed=f"{', '.join(allowed)} (job.protocol: {', '.join(able)} runs {job.operation})",
        )  # fmt: skip
    if "root" in given and not operation.has_root:
        rooted = [name for name, each in OPERATIONS.items() if each.has_root]
        problems.add(
            ("job", "root"), f"{job.operation} has no root", found=str(job.root),
            allowed=f"leave the key out, or job.operation: {', '.join(rooted)}",
        )  # fmt: skip
    elif hosts is not None and job.root >= hosts // job.copies:
        ranks = hosts // job.copies
        problems.add(("job", "root"), "no such rank", found=str(job.root), allowed=f"0 to {ranks - 1} ({ranks} hosts)")
    if job.workload == "digits" and job.operation != ALL_REDUCE:
        problems.add(
            ("job", "operation"), "workload digits trains with sums at all ranks", found=f"'{job.operation}'",
            allowed=ALL_REDUCE,
        )  # fmt: skip
    if job.op != "sum" and not operation.sums:
        problems.add(("job", "op"), f"{job.operation} sums nothing", found=f"'{job.op}'", allowed="leave the key out")
    if job.fallback != "none" and job.operation != ALL_REDUCE:
        problems.add(
            ("job", "fallback"), "only an all-reduce can start again as another protocol", found=f"'{job.fallback}'",
            allowed="none",
        )  # fmt: skip
    if job.operation != ALL_REDUCE and (job.model is not None or job.compute is not None or job.stages is not None):
        problems.add(
            ("job", "operation"), "gradients that are computed are summed", found=f"'{job.operation}'",
            allowed=ALL_REDUCE,
        )  # fmt: skip
    if job.in_place and job.operation != ALL_REDUCE:
        problems.add(("job", "in_place"), "only an all-reduce runs in place", found=job.operation, allowed="false")


def check_job_hosts(problems: Problems, topology: Topology, job: Job) -> None:
    known = [host.name for host in topology.hosts]
    for name in job.hosts:
        if name not in known:
            problems.add(
                ("job", "hosts"), "no such host", found=show(name), allowed=f"all, or some of {', '.join(known)}",
                hint=closest(name, known),
            )  # fmt: skip


def check_switch_memory(
    problems: Problems, hosts: int | None, switch: SwitchOptions, transport: Transport, job: Job
) -> None:
    """The window must stay below half the PSN space, and its slots in the memory of a switch."""
    window = job.window_messages * job.message_packets
    product = f"{job.window_messages} messages x {job.message_packets} packets = {window} packets"
    if window > MOST_APART:
        problems.add(
            ("job", "window_messages"),
            "the window is too large for 24-bit PSNs",
            found=product,
            allowed=f"at most {MOST_APART} packets (old and new messages must stay apart)",
        )
    elif uses(switch.program, "rings") and hosts is not None:
        size = 2 * window * (hosts + 1) * transport.path_mtu
        if size > _SWITCH_MEMORY:
            problems.add(
                ("job", "window_messages"),
                "the window is too large for the switch's memory",
                found=f"{product}; 2 x {window} slots x {hosts + 1} payloads x {transport.path_mtu} bytes = {size} "
                "bytes",
                allowed=f"at most {format_size(_SWITCH_MEMORY)}",
            )
