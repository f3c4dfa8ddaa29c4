"""The cases as data: each is a scenario on a rack whose hosts are rxe devices, and what must come out.

Groups: shapes without loss, loss by identity, loss by chance, the same without rule A (asap), patience of queue pairs,
a plain switch. Further: rings with ranks on our own endpoint (mixed), peers, negative controls. Every connection's PSN
starts just below 2^24, so it wraps in every case. Timeout code 17 (RTO 0.54 s): below 16 an emulated guest retransmits
without a loss.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from testbed.interop.peercases import PEER_CASES, PeerCase
from testbed.scenario.loader import parse_scenario
from testbed.scenario.model import Scenario
from testbed.scenario.protocols.known import protocol_of
from workloads.errors import ScenarioError

__all__ = ["ALLREDUCE", "CASES", "COMMAND", "Case", "case_scenario", "choose_cases", "devices_of"]

ALLREDUCE, COMMAND = "allreduce", "command"
_START_PSN = 0xFFFFFC
_MTU = 4200


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    """`group/name`"""
    hosts: int = 4
    kind: str = ALLREDUCE
    transport: Mapping[str, Any] = field(default_factory=dict)
    job: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[Mapping[str, Any], ...] = ()
    protocol: str = "netreduce"
    release: str = "order"
    """release policy of the switch's results: order (rule A of the protocol), or asap, to compare with"""
    must_fail: str = ""
    """a negative control: this checker must say fail (and the case passes then)"""
    control: str = ""
    """name in `testbed.interop.controls.CONTROLS`: the wrong switch that serves"""
    soft: tuple[int, ...] = ()
    """ranks that run on our own endpoint, on the host"""
    commands: tuple[tuple[str, ...], ...] = ()
    """commands of kind `command`; the last one's end is the case's end, all must exit 0"""
    limit: str = "40s"
    """time limit, for a busy machine; a case takes one or two seconds"""


def _name(
    shape: str, hosts: int, dtype: str, packets: int, window: int = 2, mtu: int = 1024, verb: str = "write"
) -> Case:
    """A lossless shape of about 2.5 windows of messages, at most 500 kB."""
    size = max(4 * 40, min(500_000, int(packets * mtu * (2.5 * window + 0.5))) // 4 * 4)
    return Case(
        f"shape/{shape}",
        hosts,
        transport={"path_mtu": mtu, "verb": verb},
        job={"dtype": dtype, "size": size, "message_packets": packets, "window_messages": window},
    )


def _fault(kind: str, links: str | list[str], direction: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "links": links, "direction": direction, **more}


def _drop(link: str, direction: str, **match: Any) -> dict[str, Any]:
    return _fault("drop", [link], direction, match=match)


_MESSAGES = 7  # of the default job: the hello, six full messages and a short one
_DEFAULT_JOB = {"size": 100_000, "message_packets": 16, "window_messages": 2}

_SHAPES = (
    _name("2-hosts-int32-1", 2, "int32", 1, window=4),
    _name("2-hosts-float32-16", 2, "float32", 16),
    _name("2-hosts-int32-170", 2, "int32", 170, window=1),
    _name("4-hosts-float32-1", 4, "float32", 1, window=2),
    _name("4-hosts-int32-16", 4, "int32", 16, window=4),
    _name("4-hosts-float32-170", 4, "float32", 170),
    _name("6-hosts-int32-1", 6, "int32", 1, window=1),
    _name("6-hosts-float32-16", 6, "float32", 16),
    _name("6-hosts-int32-170", 6, "int32", 170),
    _name("window-1", 4, "float32", 16, window=1),
    _name("window-4", 4, "float32", 16, window=4),
    _name("mtu-256", 4, "float32", 16, mtu=256),
    _name("mtu-512", 4, "int32", 16, mtu=512),
    _name("mtu-2048", 4, "float32", 16, mtu=2048),
    _name("mtu-4096", 4, "int32", 16, mtu=4096),
    _name("send-16", 4, "float32", 16, verb="send"),
    _name("send-170", 4, "int32", 170, verb="send"),
)
_SOON: Mapping[str, Any] = {"timeout": 16}
"""an RTO of 0.27 s, where many are waited for"""
_BY_IDENTITY = (
    Case("loss/first", faults=(_drop("h2-s1", "up", opcode="data", message=3, packet=0, attempt=1),)),
    Case("loss/middle", faults=(_drop("h2-s1", "up", opcode="data", message=3, packet=7, attempt=1),)),
    Case("loss/last", faults=(_drop("h2-s1", "up", opcode="data", message=3, packet="last", attempt=1),)),
    Case("loss/result", faults=(_drop("h4-s1", "down", opcode="data", message=3, packet=7, attempt=1),)),
    Case(
        "loss/nak-too",
        faults=(
            _drop("h2-s1", "up", opcode="data", message=3, packet=7, attempt=1),
            _drop("h3-s1", "up", opcode="nak", attempt=1),
        ),
    ),
    Case(
        "loss/retransmission-too",
        faults=(
            _drop("h2-s1", "up", opcode="data", message=3, packet=7, attempt=1),
            _drop("h2-s1", "up", opcode="data", message=3, packet=7, attempt=2),
        ),
    ),
    Case("loss/acks", transport=_SOON, faults=(_fault("drop", "all", "both", rate=0.5, match={"opcode": "ack"}),)),
    Case("loss/first-of-last", faults=(_drop("h2-s1", "up", opcode="data", message=_MESSAGES, packet=0, attempt=1),)),
    Case("loss/tail", faults=(_drop("h2-s1", "up", opcode="data", message=_MESSAGES, attempt=1),)),
    Case("loss/last-result", faults=(_drop("h4-s1", "down", opcode="data", message=_MESSAGES, packet="last",
        attempt=1),)),
    Case("loss/hello", faults=(_drop("h2-s1", "up", opcode="data", message=0, attempt=1),)),
    Case(
        "loss/first-without-hello",
        job={"hello": False},
        faults=(_drop("h2-s1", "up", opcode="data", message=0, packet=0, attempt=1),),
    ),
    Case(
        "loss/stale-duplicate",
        faults=(_fault("duplicate", ["h2-s1"], "up", delay="300ms", match={"opcode": "data", "message": 2,
            "packet": 5}),
                _fault("delay", ["h3-s1"], "up", delay="60ms", match={"opcode": "data"})),
    ),
)  # fmt: skip
_BY_CHANCE = (
    Case("chance/loss-1", transport=_SOON, faults=(_fault("loss", "all", "both", rate=0.01),)),
    Case("chance/loss-3", transport=_SOON, faults=(_fault("loss", "all", "both", rate=0.03),)),
    Case(
        "chance/loss-1-long",
        transport=_SOON,
        job={"size": 400_000, "message_packets": 170},
        faults=(_fault("loss", "all", "both", rate=0.01),),
        limit="60s",
    ),
    Case(
        "chance/loss-1-6-hosts",
        hosts=6,
        transport=_SOON,
        job={"dtype": "int32"},
        faults=(_fault("loss", "all", "both", rate=0.01),),
    ),
    Case("chance/duplicates", transport=_SOON, faults=(_fault("duplicate", "all", "both", rate=0.05),)),
    Case(
        "chance/late-duplicates", transport=_SOON, faults=(_fault("duplicate", "all", "both", rate=0.1, delay="40ms"),)
    ),
    Case(
        "chance/reorder",
        transport=_SOON,
        faults=(_fault("reorder", "all", "both", rate=0.02, delay="3ms", match={"opcode": "data"}),),
    ),
    Case("chance/corruption", transport=_SOON, faults=(_fault("corrupt", "all", "both", rate=0.01),)),
)
_ASAP = (
    Case("asap/middle", release="asap", faults=_BY_IDENTITY[1].faults),
    Case("asap/loss-1", transport=_SOON, release="asap", faults=_BY_CHANCE[0].faults),
)
_PATIENCE = (
    Case("patience/receiver-not-ready", transport={"verb": "send", "receive_late": "30ms", "rnr_timer": 16}),
    Case("patience/straggler", job={"straggler": {"rank": 2, "delay": "1200ms"}}),
    Case(
        "patience/straggler-too-late",
        transport={"timeout": 14, "retry_count": 2},
        job={"straggler": {"rank": 2, "delay": "1500ms"}},
        must_fail="liveness",
    ),
)
_TRANSPARENCY = (
    Case("plain/shift", protocol="shift"),
    Case(
        "plain/shift-6-hosts-lossy",
        hosts=6,
        transport=_SOON,
        protocol="shift",
        faults=(_fault("loss", "all", "both", rate=0.01),),
    ),
)
_MIXED = (
    Case("mixed/half", soft=(1, 3)),
    Case("mixed/one-rxe", soft=(0, 1, 3)),
    Case("mixed/half-lossy", soft=(0, 1), faults=(_fault("loss", "all", "both", rate=0.01),)),
)
_POLITE = ("nice", "-n", "19")
"""These programs poll without a pause, and would take the guest's one processor from the kernel's transport."""
_PERFTEST = ("-d", "rxe0", "-x", "1", "-F", "-n", "64", "-s", "65536", "-u", "17")
_PEERS = (
    Case(
        "peer/rc-pingpong",
        hosts=2,
        kind=COMMAND,
        commands=(
            (*_POLITE, "ibv_rc_pingpong", "-d", "rxe0", "-g", "1", "-n", "20", "-s", "4096"),
            (*_POLITE, "ibv_rc_pingpong", "-d", "rxe1", "-g", "1", "-n", "20", "-s", "4096", "10.77.0.2"),
        ),
    ),
    Case(
        "peer/send-bw",
        hosts=2,
        kind=COMMAND,
        commands=(
            (*_POLITE, "ib_send_bw", *_PERFTEST),
            (*_POLITE, "ib_send_bw", "-d", "rxe1", *_PERFTEST[2:], "10.77.0.2"),
        ),
    ),
    Case(
        "peer/write-bw",
        hosts=2,
        kind=COMMAND,
        commands=(
            (*_POLITE, "ib_write_bw", *_PERFTEST),
            (*_POLITE, "ib_write_bw", "-d", "rxe1", *_PERFTEST[2:], "10.77.0.2"),
        ),
    ),
)
_CONTROLS = (
    Case("control/plain-switch", control="plain-switch", must_fail="bit_exact"),
    Case("control/float64-sums", control="float64-sums", must_fail="bit_exact"),
    Case(
        "control/stale-icrc",
        transport={"timeout": 14, "retry_count": 2},
        control="stale-icrc",
        must_fail="transparency",
        limit="10s",
    ),
    Case(
        "control/dead-switch",
        transport={"timeout": 14, "retry_count": 2},
        faults=(_fault("drop", "all", "both", match={"opcode": "data", "message": 2}),),
        must_fail="liveness",
        limit="10s",
    ),
)

CASES: tuple[Case | PeerCase, ...] = (
    *_SHAPES, *_BY_IDENTITY, *_BY_CHANCE, *_ASAP, *_PATIENCE, *_TRANSPARENCY, *_MIXED, *_PEERS, *PEER_CASES, *_CONTROLS,
)  # fmt: skip


def choose_cases(patterns: tuple[str, ...]) -> tuple[Case | PeerCase, ...]:
    """Cases whose id matches one of the shell patterns; all for no pattern. Raises ScenarioError for one that fits
    none."""
    chosen: dict[str, Case | PeerCase] = {}
    for pattern in patterns or ("*",):
        fitting = [case for case in CASES if fnmatch.fnmatchcase(case.id, pattern)]
        if not fitting:
            groups = sorted({case.id.partition("/")[0] for case in CASES})
            allowed = f"a case's id or a pattern, as {', '.join(f'{group}/*' for group in groups)}"
            raise ScenarioError("no case fits", file="interop", key="--cases", found=repr(pattern), allowed=allowed)
        chosen.update((case.id, case) for case in fitting)
    return tuple(case for case in CASES if case.id in chosen)


def devices_of(cases: tuple[Case | PeerCase, ...]) -> int:
    """How many rxe devices the guest needs for them."""
    return max((case.hosts for case in cases), default=2)


def case_scenario(case: Case, seed: int) -> Scenario:
    """What a run of this case is judged as. Raises ScenarioError when the case is no possible scenario."""
    data = {
        "name": case.id.replace("/", "-"),
        "seed": seed,
        "topology": {"kind": "rack", "hosts": case.hosts, "link": {"rate": "10Gbps", "mtu": _MTU}},
        "switch": {"program": protocol_of(case.protocol).programs[0], "release": case.release},
        "transport": {"timeout": 17, "start_psn": _START_PSN, **case.transport},
        "job": {"protocol": case.protocol, **_DEFAULT_JOB, **case.job},
        "faults": [{"name": f"fault-{number}", **fault} for number, fault in enumerate(case.faults, start=1)],
        "time_limit": case.limit,
        "expect": "fail" if case.must_fail else "pass",
    }
    return parse_scenario(json.dumps(data), f"case {case.id}")
