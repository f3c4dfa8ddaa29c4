"""What must hold between the keys of a scenario whose protocol is a repair."""

from __future__ import annotations

from collections.abc import Sequence

from switch_nodes.kinds import sums
from testbed.protocols.repair.keys import RepairKeys
from testbed.reading.problems import KeyPath, Problems
from testbed.scenario.checks.datagrams import check_datagram_fault, check_rto, check_sizes
from testbed.scenario.keys.fault_loader import Placed
from testbed.scenario.keys.job import Job
from testbed.scenario.keys.switch import SwitchOptions
from testbed.scenario.keys.transport import Transport
from testbed.scenario.protocols.names import PATH_MTUS
from topologies import Topology, attachment
from workloads.codes import problem_of
from workloads.datagrams.problems import MAX_WORKERS
from workloads.wire.aggregation import MAX_ELEMENTS

__all__ = ["check_repair", "check_repair_fault"]

_WORD_BYTES = 4
_FILES = ("synthetic", "extreme")
_WORDS = ("float32", "int32")


def check_repair(
    problems: Problems,
    topology: Topology,
    switch: SwitchOptions,
    transport: Transport,
    job: Job,
    entries: Sequence[tuple[KeyPath, Job]] = (),
) -> None:
    """Is there such a code, are there donors enough, do sizes fit? `entries`: of `jobs`, each with its place."""
    keys = job.own
    if attachment(topology) is not None:
        found = f"the {topology.kind} topology"
        problems.add(("job", "protocol"), "repair knows no accelerator", found=found, allowed="any other one")
    if job.op != "sum":
        allowed = "leave the key out: repair adds over GF(2^8), see job.combine"
        problems.add(("job", "op"), "nothing else can be added", found=f"'{job.op}'", allowed=allowed)
    if transport.path_mtu > _WORD_BYTES * MAX_ELEMENTS:
        allowed = ", ".join(str(mtu) for mtu in PATH_MTUS if mtu <= _WORD_BYTES * MAX_ELEMENTS)
        problems.add(
            ("transport", "path_mtu"), "a repair packet has at most 256 elements", found=str(transport.path_mtu),
            allowed=allowed,
        )  # fmt: skip
    check_rto(problems, transport)
    if not isinstance(keys, RepairKeys) or not _check_code(problems, keys):
        return
    _check_hosts(problems, topology, job, keys, entries)
    alpha = keys.share.code.alpha
    for path, each in entries or [(("job",), job)]:
        if each.workload not in _FILES:
            found = f"'{each.workload}'"
            problems.add((*path, "workload"), "no file to store", found=found, allowed=", ".join(_FILES))
        if each.dtype not in _WORDS:
            problems.add((*path, "dtype"), "a file has no clamped words", found=f"'{each.dtype}'", allowed="int32")
        if each.size_bytes % (_WORD_BYTES * alpha):
            problems.add(
                (*path, "size"), f"a node stores {alpha} symbols of one size", found=f"{each.size_bytes} bytes",
                allowed=f"a multiple of {_WORD_BYTES * alpha} bytes",
            )  # fmt: skip
    if not sums(switch.program):
        return
    if keys.code != "rs":
        problems.add(
            ("switch", "program"), f"the newcomer of {keys.code} makes {alpha} symbols of what donors send: no sum of "
            "them will do", found=f"'{switch.program}'", allowed="forward; or job.code: rs",
        )  # fmt: skip
    count = len(entries) or job.copies
    if switch.memory < count:
        found = f"{switch.memory} for {count} job{'s' if count > 1 else ''}"
        problems.add(("switch", "memory"), "no slot for every job", found=found, allowed=f"{count} or more")


def _check_code(problems: Problems, keys: RepairKeys) -> bool:
    wrong = problem_of(keys.code, keys.n, keys.k, keys.donors_wanted)
    if wrong is not None:
        key, problem, allowed = wrong
        found = f"{keys.code} ({keys.n}, {keys.k}, {keys.donors_wanted})"
        problems.add(("job", key), problem, found=found, allowed=allowed)
        return False
    if keys.lost >= keys.n:
        problems.add(("job", "lost"), "no such node", found=str(keys.lost), allowed=f"0 to {keys.n - 1}")
        return False
    share = keys.share
    if keys.lost in share.donors:
        allowed = f"others than node {keys.lost}, which is lost"
        problems.add(("job", "donors"), "the lost node gives nothing", found=str(list(share.donors)), allowed=allowed)
        return False
    others = set(share.donors)
    if len(others) != share.d or len(share.donors) != share.d or not others <= set(range(keys.n)):
        what = "too few donors" if len(others) < share.d else "not the donors of one repair"
        allowed = f"{share.d} different nodes of 0 to {keys.n - 1}"
        problems.add(("job", "donors"), what, found=str(list(share.donors)), allowed=allowed)
        return False
    return True


def _check_hosts(
    problems: Problems, topology: Topology, job: Job, keys: RepairKeys, entries: Sequence[tuple[KeyPath, Job]]
) -> None:
    wanted = keys.donors_wanted + 1
    allowed = f"{wanted}: {wanted - 1} donors, and the newcomer as the last one"
    if wanted > MAX_WORKERS:
        problems.add(("job", "d"), "more donors than bits", found=str(wanted - 1), allowed=f"at most {MAX_WORKERS - 1}")
        return
    if entries:
        check_sizes(problems, entries, wanted)
        for path, each in entries:
            if len(each.hosts) != wanted:
                problems.add(
                    (*path, "hosts"), "not the hosts of one repair", found=str(len(each.hosts)), allowed=allowed
                )
        return
    hosts = len(job.hosts) or len(topology.hosts)
    if hosts != wanted * job.copies:
        few = hosts < wanted * job.copies
        key = "hosts" if job.hosts or job.copies == 1 else "copies"
        problems.add(
            ("job", key), "too few hosts for the donors" if few else "more hosts than donors and a newcomer",
            found=f"{hosts} hosts", allowed=allowed if job.copies == 1 else f"{job.copies} times {allowed}",
        )  # fmt: skip


def check_repair_fault(problems: Problems, placed: Placed, job: Job, transport: Transport, ranks: int | None) -> None:
    """Only how often a datagram came can be asked for."""
    check_datagram_fault(problems, placed, job.protocol)
