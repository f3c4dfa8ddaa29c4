"""A node's configuration from YAML or JSON, and as JSON: any tree of frozen dataclasses, with the errors of a scenario
file.

MACs are written `02:49:4e:41:00:01`, IPv4 addresses `10.77.0.2`. Key names are those of the dataclass.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import AggregatorKnobs, JobMember
from testbed.reading.problems import KeyPath, Problems, closest, show
from testbed.reading.yamlfile import parse_yaml, read_text
from testbed.scenario.protocols import names
from topologies import format_mac
from workloads.codec import NOTHING, Codec, CodecProblem, Misfit
from workloads.config import CHANNEL, PHASE_KINDS, ArithmeticSpec, CollectiveConfig, QpConfig, WorkloadConfig
from workloads.datagrams.problems import ConfigProblem
from workloads.errors import ScenarioError
from workloads.wire.envelope import Envelope

__all__ = [
    "dump_node_config",
    "making_a_node",
    "parse_node_config",
    "place_errors",
    "read_node_config",
    "refuse_problems",
]

_T = TypeVar("_T")
_CHOICES: dict[tuple[type, str], Iterable[str | int]] = {
    (SwitchConfig, "release"): names.RELEASES,
    (SwitchConfig, "gate"): names.GATES,
    (AggregatorKnobs, "age"): names.AGES,
    (AggregatorKnobs, "free"): names.FREES,
    (ArithmeticSpec, "op"): names.OPS,
    (ArithmeticSpec, "dtype"): names.DTYPES,
    (CollectiveConfig, "kind"): (*names.PROTOCOLS, *PHASE_KINDS, CHANNEL),
    (CollectiveConfig, "verb"): names.VERBS,
    (CollectiveConfig, "credit"): names.CREDITS,
    (WorkloadConfig, "kind"): names.WORKLOADS,
    (QpConfig, "recovery"): names.RECOVERIES,
    (QpConfig, "path_mtu"): names.PATH_MTUS,
}
_BITS: dict[type, dict[str, int]] = {
    QpConfig: {
        "qpn": 24, "peer_qpn": 24, "first_psn": 24, "peer_first_psn": 24, "timeout_code": 5, "retry_count": 3,
        "rnr_retry": 3, "rnr_timer_code": 5,
    },
    CollectiveConfig: {"ring_id": 16, "rank": 16, "peer_base_va": 64, "peer_rkey": 32, "base_va": 64, "rkey": 32},
    Envelope: {
        "sport": 16, "tos": 8, "ttl": 8, "ident": 16, "flags_fragment": 16, "flow_label": 20, "udp_checksum": 16,
    },
}  # fmt: skip
"""of whole numbers in packets as they are, or in the attributes of a queue pair (IBTA vol. 1, 9.2, 9.3, 11.2)"""
_RANGES = {
    (JobMember, "rank"): (-1, (1 << 16) - 1),
    (CollectiveConfig, "message_packets"): (1, 1024),
    (CollectiveConfig, "size"): (1, 1 << 16),
    **{(kind, name): (0, (1 << bits) - 1) for kind, of in _BITS.items() for name, bits in of.items()},
}
"""of whole numbers; others begin with 0"""
_MAC = re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}\Z")
_OF_MACS = ("mac", "macs", "groups")
"""how names of fields end whose bytes are MACs; those of others are IP addresses"""


def read_node_config(path: Path, cls: type[_T], preset: Mapping[str, Any] | None = None) -> _T:
    """`preset`: fields that the command line gives; the file cannot hold them. Raises ScenarioError."""
    return parse_node_config(read_text(path, str(path)), str(path), cls, preset)


def parse_node_config(text: str, file: str, cls: type[_T], preset: Mapping[str, Any] | None = None) -> _T:
    """As `read_node_config`, from text."""
    data, places = parse_yaml(text, file)
    try:
        return _CODEC.decode(cls, {} if data is None else data, preset)
    except Misfit as misfit:
        problems = Problems(file, places)
        for each in misfit.problems:
            found = None if each.found is NOTHING else show(each.found)
            asked = each.path[-1] if each.found is NOTHING else each.found
            hint = closest(asked, each.known) if each.known else None
            problems.add(each.path, each.problem, found=found, allowed=each.allowed, hint=hint)
        raise problems.as_error() from misfit


def dump_node_config(config: Any, leave_out: Iterable[str] = ()) -> str:
    """`config`: a WorkerConfig or SwitchConfig, as JSON. `parse_node_config` makes the same value of it."""
    return json.dumps(_CODEC.encode_fields(config, leave_out))


def refuse_problems(path: Path, problems: Iterable[ConfigProblem]) -> None:
    """Raises ScenarioError for all of them, each with its line in the file."""
    errors = [ScenarioError("cannot be", key=it.key, found=it.found, allowed=it.allowed) for it in problems]
    if errors:
        raise place_errors(path, *errors)


@contextlib.contextmanager
def making_a_node(path: Path | None) -> Iterator[None]:
    """Around the making of a node's Machine. Whatever it cannot do with a configuration whose fields are all of their
    types is the file's fault. Raises ScenarioError."""
    try:
        yield
    except ScenarioError:
        raise
    except Exception as error:
        if path is None:
            raise
        problem = f"no node can be made of this: {type(error).__name__}: {error}"
        raise ScenarioError(problem, file=str(path), allowed="a configuration whose keys fit each other") from error


def place_errors(path: Path, *errors: ScenarioError) -> ScenarioError:
    """One or more errors about a file, with file and line. `key` is a key of the file, or of an entry."""
    _, places = parse_yaml(read_text(path, str(path)), str(path))
    problems = Problems(str(path), places)
    for error in errors:
        problems.add(
            _key_path(error.key or ""), error.problem, found=error.found, allowed=error.allowed, hint=error.hint
        )
    return problems.as_error()


def _key_path(key: str) -> KeyPath:
    """Of `jobs[0].window`."""
    return tuple(int(part) if part.isdecimal() else part for part in re.findall(r"\w+", key))


def _read_bytes(data: object, name: str) -> bytes:
    """What the field's name says: a MAC, or else an IP address."""
    if name.endswith(_OF_MACS):
        if isinstance(data, str) and _MAC.match(data):
            return bytes.fromhex(data.replace(":", ""))
        raise Misfit(CodecProblem((), "no MAC", data, "a MAC as 02:49:4e:41:00:01"))
    try:
        if isinstance(data, str):
            return ipaddress.ip_address(data).packed
    except ValueError:
        pass
    raise Misfit(CodecProblem((), "no IP address", data, "an IP address as 10.77.0.2"))


def _write_bytes(value: bytes) -> str:
    return format_mac(value) if len(value) == 6 else str(ipaddress.ip_address(value))


_CODEC = Codec(_write_bytes, _read_bytes, least=0, ranges=_RANGES, choices=_CHOICES, named="name", knows_all=True)
