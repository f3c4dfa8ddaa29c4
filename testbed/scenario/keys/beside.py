"""Jobs of other protocols on the same network, a section of the scenario file.

The jobs of one protocol are a party. The jobs of `job` and `jobs` are the first party, and each entry of this section
is another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from testbed.reading.keytypes import At, KeyType, Refer, Told
from testbed.reading.problems import KeyPath, Problems, show
from testbed.reading.sections import Key, Section, as_far_as_known, read_section, write_section
from testbed.scenario.keys.job import Job
from testbed.scenario.keys.job_loader import JobsType, JobType
from testbed.scenario.keys.switch import SwitchOptions
from testbed.scenario.keys.transport import Transport
from testbed.scenario.protocols.known import names_where, protocol_of, protocols
from testbed.scenario.protocols.names import MOST_JOBS
from testbed.scenario.protocols.own_code import is_own_code
from testbed.scenario.protocols.protocol import KeyGroup
from topologies import Topology, attachment

__all__ = ["PLAIN", "Beside", "PartiesType", "Party", "check_parties", "inside_of"]

PLAIN = SwitchOptions("forward")
"""options of the switches for jobs that the switch program does not serve"""


@dataclass(frozen=True, slots=True)
class Beside(Section):
    """Jobs of one more protocol, which asks nothing of switches but to forward."""

    job: Annotated[Job, JobType()]
    """as the `job` of the file: the one job, with `hosts`, or what several have in common"""
    transport: Annotated[Transport, Key(shown="")] = Transport()
    """as the `transport` of the file, which is another one"""
    jobs: Annotated[tuple[Job, ...], JobsType(), Key(shown="`job` alone")] = ()
    """as the `jobs` of the file, each with `hosts`"""


@dataclass(frozen=True, slots=True)
class PartiesType(KeyType):
    """A list of protocols, each with its jobs and its transport."""

    def read(self, value: Any, at: At) -> tuple[Beside | None, ...]:
        """None: no mapping."""
        if not isinstance(value, list):
            at.add("not a list", found=show(value), allowed="one protocol per `- job: {protocol: ...}`")
            raise Told
        return tuple(self._entry(at / index, entry) for index, entry in enumerate(value))

    def _entry(self, at: At, entry: Any) -> Beside | None:
        return read_section(At(at.problems.inside(at.path)), entry, Beside, "the protocol")

    def write(self, value: Sequence[Beside]) -> Any:
        return [write_section(entry) for entry in value] or None

    def schema(self, refer: Refer) -> dict[str, Any]:
        return {"type": "array", "items": refer(Beside)}

    def sections(self) -> tuple[type, ...]:
        return (Beside,)


@dataclass(frozen=True, slots=True)
class Party:
    """The jobs of one protocol as far as they are known, and where they stand."""

    path: KeyPath
    """empty: `job` and `jobs` of the file"""
    job: Job
    jobs: Sequence[Job]

    @property
    def all_jobs(self) -> Iterator[tuple[KeyPath, Job]]:
        """Each with its place."""
        if self.jobs:
            return (((*self.path, "jobs", index), job) for index, job in enumerate(self.jobs))
        return iter([((*self.path, "job"), self.job)])


def inside_of(problems: Problems, path: KeyPath) -> Problems:
    """The problems of the jobs at `path`, reported at their own place. An entry there has no key for what switches
    do."""
    return problems.inside(path, outside=("topology",), instead={"switch": ("job", "protocol")})


def check_parties(
    problems: Problems, parties: Sequence[Party], world: str | None, topology: Topology | None, given: Mapping[str, Any]
) -> bool:
    """Whether protocols can share this network at all, so that each can be checked alone. Adds a problem for each key
    that cannot be shared. `given`: what the file holds."""
    before = len(problems)
    for key in ("nics", "recoveries"):
        if not given.get(key):
            continue
        problems.add(
            (key,), "cannot be combined with jobs of other protocols, because it does not know their hosts",
            allowed="omit it; transport.recovery of each protocol says how its hosts repair losses",
        )  # fmt: skip
    if topology is not None and attachment(topology) is not None:
        problems.add(
            ("beside",), "the commodity switch leads the packets of one protocol through its accelerator",
            found=f"the {topology.kind} topology", allowed="any other topology.kind",
        )  # fmt: skip
    if world == "lab":
        problems.add(
            ("beside",), "a lab runs the jobs of one protocol", found="world lab",
            allowed="world: simulated, world: emulated",
        )  # fmt: skip
    for party in parties:
        if party.job.file is not None:
            problems.add(
                (*party.path, "job", "workload"), "a workload that is a file has the network for itself",
                found="a file", allowed="omit `beside`, or another workload",
            )  # fmt: skip
        with as_far_as_known():
            _check_protocol(problems, party)
        with as_far_as_known():
            if party.job.copies > 1:
                problems.add(
                    (*party.path, "job", "copies"), "cannot be combined with jobs of other protocols",
                    found=str(party.job.copies), allowed="omit it, or list every job in `jobs`, with its hosts",
                )  # fmt: skip
    _check_hosts(problems, parties)
    _check_ids(problems, parties)
    return len(problems) == before


def _check_protocol(problems: Problems, party: Party) -> None:
    """A switch has one program: that which serves `job`."""
    name = party.job.protocol
    if is_own_code(name):
        problems.add(
            (*party.path, "job", "protocol"), "a protocol of your own has the network for itself", found=f"'{name}'",
            allowed="omit `beside`",
        )  # fmt: skip
        return
    if not party.path or PLAIN.program in protocol_of(name).programs:
        return
    free = (protocol.name for protocol in protocols() if PLAIN.program in protocol.programs)
    problems.add(
        (*party.path, "job", "protocol"),
        f"{name} needs a switch program of its own, and the switches run the one program that serves `job`",
        found=f"'{name}'", allowed=", ".join(free),
        hint=f"{name} can be the protocol of `job`, with the others in `beside`",
    )  # fmt: skip


def _check_hosts(problems: Problems, parties: Sequence[Party]) -> None:
    """Each host runs what one protocol needs, and says which."""
    taken: dict[str, str] = {}
    for party in parties:
        own: dict[str, None] = {}
        for path, job in party.all_jobs:
            with as_far_as_known():
                _check_host(problems, path, job, taken)
                serves = protocol_of(party.job.protocol).servers()
                own |= dict.fromkeys((*job.hosts, *([job.server] if serves and job.server else [])))
        for name in own:
            with as_far_as_known():
                taken.setdefault(name, party.job.protocol)


def _check_host(problems: Problems, path: KeyPath, job: Job, taken: dict[str, str]) -> None:
    if not job.hosts:
        problems.add(
            (*path, "hosts"), "nothing says which hosts are left to the other protocols",
            allowed="the hosts of the job, as [h1, h2, h3]",
        )  # fmt: skip
    servers = [job.server] if protocol_of(job.protocol).servers() and job.server else []
    for key, names in (("hosts", job.hosts), ("server", servers)):
        for name in names:
            if name in taken:
                problems.add(
                    (*path, key), "a host of two protocols: each host has the endpoints of one",
                    found=f"{name}, which has a part in {taken[name]}", allowed="hosts that no other protocol has",
                )  # fmt: skip


def _check_ids(problems: Problems, parties: Sequence[Party]) -> None:
    """Jobs of all protocols count on."""
    count = 0
    for party in parties:
        with as_far_as_known():
            count += max([job.number or 1 for job in party.jobs], default=1)
    if count > MOST_JOBS:
        names = ", ".join(names_where(lambda each: KeyGroup.JOBS in each.optional_keys()))
        problems.add(
            ("beside",), "more jobs than ids", found=f"ids up to {count}",
            allowed=f"at most {MOST_JOBS} in all; the jobs of {names} have ids behind one another",
        )  # fmt: skip
