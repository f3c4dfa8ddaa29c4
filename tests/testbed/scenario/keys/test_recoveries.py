"""`recoveries`: hosts that say their loss recovery themselves, and the words when the hosts of a ring do not agree."""

from __future__ import annotations

import pytest

from testbed.plan import make_plan
from testbed.scenario.dump import dump_scenario
from testbed.scenario.loader import parse_scenario
from workloads.errors import ScenarioError

BASE = "name: a\ntopology: {kind: rack, hosts: 3}\n"
BOTH = "both ends of a connection need one loss recovery, and a ring connects all hosts of the job"


@pytest.mark.parametrize(
    ("text", "recovery"),
    [
        ("", "gbn"),
        ("recoveries: {}\n", "gbn"),
        ("recoveries: {h2: gbn}\n", "gbn"),
        ("recoveries: {h1: irn, h2: irn, h3: irn}\n", "irn"),
        ("transport: {recovery: irn}\nrecoveries: {h3: irn}\n", "irn"),
        ("transport: {recovery: irn}\nrecoveries: {h1: gbn, h2: gbn, h3: gbn}\n", "gbn"),
        ("job: {hosts: [h1, h3]}\nrecoveries: {h1: irn, h3: irn}\n", "irn"),
        ("job: {hosts: [h1, h3]}\nrecoveries: {h2: irn}\n", "gbn"),
        ("switch: {program: forward}\njob: {protocol: ring}\nrecoveries: {h1: irn, h2: irn, h3: irn}\n", "irn"),
    ],
)
def test_what_the_hosts_of_the_job_agree_on_is_what_their_connections_use(text: str, recovery: str) -> None:
    scenario = parse_scenario(BASE + text, "f")
    assert scenario.transport.recovery == recovery
    assert parse_scenario(dump_scenario(scenario), "f") == scenario
    assert {qp.recovery for worker in make_plan(scenario).workers for qp in worker.queue_pairs} == {recovery}


@pytest.mark.parametrize(
    ("protocol", "program"), [("netreduce", "netreduce"), ("ring", "forward"), ("shift", "forward")]
)
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "recoveries: {h2: irn}\n",
            (
                f"f:5: recoveries.h2: {BOTH}; found 'irn', and 'gbn' at h1; "
                "allowed: gbn for h2; or the same for all hosts of the job: transport.recovery"
            ),
        ),
        (
            "recoveries: {h1: irn}\n",
            (
                f"f:5: recoveries.h1: {BOTH}; found 'irn', and 'gbn' at h2; "
                "allowed: gbn for h1; or the same for all hosts of the job: transport.recovery"
            ),
        ),
        (
            "transport: {recovery: irn}\nrecoveries: {h3: gbn}\n",
            (
                f"f:6: recoveries.h3: {BOTH}; found 'gbn', and 'irn' at h1; "
                "allowed: irn for h3; or the same for all hosts of the job: transport.recovery"
            ),
        ),
    ],
)
def test_a_mixed_ring_is_refused_with_the_reason(text: str, told: str, protocol: str, program: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(f"{BASE}switch: {{program: {program}}}\njob: {{protocol: {protocol}}}\n{text}", "f")
    assert str(caught.value) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "recoveries: irn\n",
            "f:3: recoveries: not a mapping; found 'irn'; allowed: host: recovery; a recovery is one",
        ),
        ("recoveries: {h1: sack}\n", "f:3: recoveries.h1: not a recovery; found 'sack'; allowed: gbn, irn"),
        ("recoveries: {h9: gbn}\n", "f:3: recoveries.h9: there is no such host; allowed: a host of the topology"),
        (
            "job: {protocol: switchml}\nswitch: {program: switchml}\nrecoveries: {h1: gbn}\n",
            "f:5: recoveries.h1: protocol switchml has no RC connections, whose losses a recovery repairs",
        ),
    ],
)
def test_what_is_no_recovery_of_a_host(text: str, told: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(BASE + text, "f")
    assert str(caught.value).startswith(told)
