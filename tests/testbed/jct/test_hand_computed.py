"""Parts of job completion times, worked out by hand. Links carry a byte in a microsecond and delay it by a millisecond;
a full SwitchML packet of 256 elements has 1,106 bytes. All times are in microseconds."""

from __future__ import annotations

import pytest

from testbed.jct import JctParts
from testbed.scenario.loader import parse_scenario
from tests.support.parts import assert_sums, with_parts

_PACKET = "size: 1024B, dtype: int32, window_packets: 1"
_LOST = (
    "transport: {rto: 50ms}\n"
    "faults: [{kind: drop, name: lost, links: [h1-s1], direction: DIRECTION, match: {attempt: 1}}]"
)


def _parts(
    job: str, *, protocol: str = "switchml", hosts: int = 2, links: str = "", rest: str = "", link: str = "delay: 1ms"
) -> JctParts:
    program = {"ring": "forward"}.get(protocol, protocol)
    text = (
        "name: case\nworld: simulated\n"
        f"topology: {{kind: rack, hosts: {hosts}, link: {{rate: 8Mbps, {link}}}{links}}}\n"
        f"switch: {{program: {program}}}\njob: {{protocol: {protocol}, {job}}}\ntime_limit: 60s\n{rest}\n"
    )
    context, parts = with_parts(parse_scenario(text, "case.yaml"))
    assert_sums(context, parts)
    return parts


def _check(parts: JctParts, **expected: dict[str, int]) -> None:
    """`expected`: us by part, of the path and of workers."""
    for name, wanted in expected.items():
        own = parts.path if name == "path" else parts.workers[name]
        assert {str(part): ns / 1000 for part, ns in own.items() if ns} == wanted, name


def test_one_packet() -> None:
    """There and back: two times 1,106 bytes and two delays."""
    each = {"serialisation": 2212, "propagation": 2000}
    _check(_parts(_PACKET), path=each, h1=each, h2=each)


def test_one_packet_without_delay() -> None:
    each = {"serialisation": 2212}
    _check(_parts(_PACKET, link="delay: 0s"), path=each, h1=each, h2=each)


def test_one_small_packet() -> None:
    """128 elements in 594 bytes."""
    each = {"serialisation": 1188, "propagation": 2000}
    _check(_parts("size: 512B, dtype: int32, window_packets: 1"), path=each, h1=each, h2=each)


def test_two_packets_and_a_window_of_one() -> None:
    """The second packet leaves when the first result is there. The worker waits for this credit. On the critical path,
    that time is a round trip."""
    worker = {"serialisation": 4424, "propagation": 2000, "credit": 2000}
    found = _parts("size: 2048B, dtype: int32, window_packets: 1")
    _check(found, path={"serialisation": 4424, "propagation": 4000}, h1=worker, h2=worker)


def test_two_packets_and_a_window_of_two() -> None:
    """They leave at 0 and 1,106. Results come from 3,106 to 5,318, so the links are idle for 894."""
    worker = {"serialisation": 4424, "propagation": 894}
    found = _parts("size: 2048B, dtype: int32, window_packets: 2")
    _check(found, path={"serialisation": 3318, "propagation": 2000}, h1=worker, h2=worker)


def test_three_packets_and_a_window_of_two() -> None:
    """The third leaves at 4,212, with the first result. Until then
    the links are idle from 2,212 to 3,106. They are idle again from 5,318 to 7,318, when all packets have left."""
    worker = {"serialisation": 5530, "credit": 894, "propagation": 2000}
    found = _parts("size: 3072B, dtype: int32, window_packets: 2")
    _check(found, path={"serialisation": 4424, "propagation": 4000}, h1=worker, h2=worker)


def test_a_straggler() -> None:
    """h2 begins 10,000 later. The packet of h1 lies at the switch from 2,106 to 12,106."""
    late = {"computing": 10000, "serialisation": 2212, "propagation": 2000}
    found = _parts(_PACKET + ", straggler: {rank: 1, delay: 10ms}")
    _check(found, path=late, h1={"serialisation": 2212, "propagation": 2000, "slowest": 10000}, h2=late)


def test_a_straggler_and_a_window() -> None:
    found = _parts("size: 2048B, dtype: int32, window_packets: 1, straggler: {rank: 1, delay: 10ms}")
    worker = {"serialisation": 4424, "propagation": 2000, "credit": 2000}
    _check(
        found,
        path={"computing": 10000, "serialisation": 4424, "propagation": 4000},
        h1={**worker, "slowest": 10000},
        h2={**worker, "computing": 10000},
    )


def test_a_slow_link() -> None:
    """h2 takes 2,212 for each direction. h1 waits 1,106 for its packet. h1 has the result 1,106 before h2."""
    slow = {"serialisation": 4424, "propagation": 2000}
    found = _parts(_PACKET, links=", links: {h2-s1: {rate: 4Mbps}}")
    _check(found, path=slow, h1={"serialisation": 2212, "propagation": 2000, "slowest": 2212}, h2=slow)


def test_a_slow_direction() -> None:
    rest = "faults: [{kind: rate_change, name: slow, links: [h2-s1], direction: up, rate: 4Mbps, from: 0s, until: 1s}]"
    slow = {"serialisation": 3318, "propagation": 2000}
    found = _parts(_PACKET, rest=rest)
    _check(found, path=slow, h1={"serialisation": 2212, "propagation": 2000, "slowest": 1106}, h2=slow)


def test_a_distant_host() -> None:
    """5,000 to h2: h1 waits 4,000 for its packet. h1 has the result 4,000 before h2."""
    far = {"serialisation": 2212, "propagation": 10000}
    found = _parts(_PACKET, links=", links: {h2-s1: {delay: 5ms}}")
    _check(found, path=far, h1={"serialisation": 2212, "propagation": 2000, "slowest": 8000}, h2=far)


def test_a_lost_packet_and_a_known_timer() -> None:
    """The packet of h1 is lost. Both wait 50,000 from its departure and send again. The links were busy for
    1,106 of that time."""
    worker = {"serialisation": 3318, "timers": 48894, "propagation": 2000}
    found = _parts(_PACKET, rest=_LOST.replace("DIRECTION", "up"))
    _check(found, path={"timers": 50000, "serialisation": 2212, "propagation": 2000}, h1=worker, h2=worker)


def test_two_lost_packets_and_a_known_timer() -> None:
    """h1 sends at 0 and 1,106, and both packets are lost. The second leaves again at 51,106, 50,000 after the last
    progress. h2 has sent again too, so the switch gives it the first result twice. The second waits for that copy."""
    found = _parts("size: 2048B, dtype: int32, window_packets: 2", rest=_LOST.replace("DIRECTION", "up"))
    _check(found, path={"timers": 50000, "serialisation": 3318, "propagation": 2000, "queueing": 1106})


def test_a_lost_result_and_a_known_timer() -> None:
    """The result of h1 is lost before it is on the wire: h2 completes at 4,212, h1 50,000 later."""
    found = _parts(_PACKET, rest=_LOST.replace("DIRECTION", "down"))
    _check(
        found,
        path={"timers": 50000, "serialisation": 2212, "propagation": 2000},
        h1={"serialisation": 3318, "timers": 48894, "propagation": 2000},
        h2={"serialisation": 2212, "propagation": 2000, "slowest": 50000},
    )


def test_a_queue_of_known_length() -> None:
    """Two workers send to the server h3 at once: one packet waits 1,106 for the other. The server has both at 5,318 and
    sends two results, of which the second is 1,106 later. h1 gets the first."""
    last = {"serialisation": 5530, "propagation": 4000, "queueing": 1106}
    _check(_parts(_PACKET, protocol="ps", hosts=3), path=last)


def test_a_switch_stands_still() -> None:
    """From 1,500 to 11,500; packets come to it at 2,106."""
    rest = "faults: [{kind: pause, name: still, node: s1, from: 1500us, until: 11500us}]"
    each = {"serialisation": 2212, "propagation": 2000, "paused": 9394}
    _check(_parts(_PACKET, rest=rest), path=each, h1=each, h2=each)


def test_a_host_stands_still() -> None:
    """h1 does, from 3,000 to 20,000; its result is there at 4,212. Its link is idle for 106 of that time before."""
    rest = "faults: [{kind: pause, name: still, node: h1, from: 3ms, until: 20ms}]"
    _check(
        _parts(_PACKET, rest=rest),
        path={"serialisation": 2212, "propagation": 2000, "paused": 15788},
        h1={"serialisation": 2212, "propagation": 1894, "paused": 15894},
        h2={"serialisation": 2212, "propagation": 2000, "slowest": 15788},
    )


def test_two_iterations() -> None:
    """The second begins when the first result is there. That wait is not for credit: all of the first was sent."""
    each = {"serialisation": 4424, "propagation": 4000}
    _check(_parts(_PACKET + ", iterations: 2"), path=each, h1=each, h2=each)


def test_two_iterations_of_a_straggler() -> None:
    late = {"computing": 20000, "serialisation": 4424, "propagation": 4000}
    found = _parts(_PACKET + ", iterations: 2, straggler: {rank: 1, delay: 10ms}")
    _check(found, path=late, h1={"serialisation": 4424, "propagation": 4000, "slowest": 20000}, h2=late)


def test_a_ring() -> None:
    """Two chunks of 1,102 bytes, one after the other. The ACK of the first, 62 bytes, leaves before the second."""
    worker = {"serialisation": 4532, "propagation": 3938}
    found = _parts("size: 2048B, message_packets: 1, window_messages: 1", protocol="ring")
    _check(found, path={"serialisation": 4470, "propagation": 4000}, h1=worker, h2=worker)


def test_a_ring_of_the_switch() -> None:
    """Three messages of 94, 1,102 and 110 bytes, each sent when the one before is there and acknowledged (62 bytes). h2
    waits for two results and two ACKs, 2,000 each, before it may send, and for the last result when it has sent all."""
    found = _parts("size: 1024B, message_packets: 1, window_messages: 1", protocol="netreduce")
    _check(
        found,
        path={"serialisation": 2860, "propagation": 10000},
        h2={"serialisation": 2860, "propagation": 2000, "credit": 8000},
    )


@pytest.mark.parametrize("delay_us", [0, 7, 1000])
def test_the_mirror_image_of_a_straggler(delay_us: int) -> None:
    """It does not matter which rank is late."""
    late = {"computing": 10000, "serialisation": 2212} | ({"propagation": 2 * delay_us} if delay_us else {})
    found = _parts(_PACKET + ", straggler: {rank: 0, delay: 10ms}", link=f"delay: {delay_us}us")
    _check(found, path=late, h1=late)
