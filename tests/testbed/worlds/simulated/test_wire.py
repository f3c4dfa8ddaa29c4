from testbed.worlds.simulated.agenda import Agenda
from testbed.worlds.simulated.wire import Wire
from tests.support.roce_frames import answer, arp, request
from topologies import LinkShape, RedShape
from topologies.graph import RESERVE
from workloads.wire import decode_packet, icrc_is_valid
from workloads.wire.trimming import trim


def make(rate_bps=1_000_000_000, queue=10, ecn_threshold=None):
    agenda = Agenda(1)
    wire, arrived = (
        Wire(agenda, 0, LinkShape(rate_bps, queue_packets=queue, mtu=300, ecn_threshold_packets=ecn_threshold)),
        [],
    )
    wire.deliver = lambda frame: arrived.append((agenda.now, frame))
    return agenda, wire, arrived


def drain(agenda):
    while agenda.next_time() is not None:
        agenda.step()


def test_a_frame_arrives_with_its_last_bit_and_the_next_one_follows():
    agenda, wire, arrived = make()
    wire.send(bytes(125))
    wire.send(bytes(250))
    drain(agenda)
    assert [time for time, _ in arrived] == [1000, 3000]
    assert (wire.frames, wire.bytes, wire.first_at, wire.last_at, wire.drops) == (2, 375, 0, 3000, 0)


def test_remainders_are_carried_so_that_the_rate_is_exact():
    agenda, wire, arrived = make(rate_bps=3_000_000_000, queue=3000)
    for _ in range(3000):
        wire.send(bytes(64))
    drain(agenda)
    assert arrived[-1][0] == 3000 * 64 * 8 // 3


def test_the_queue_drops_its_tail():
    agenda, wire, arrived = make(queue=2)
    fates = [wire.send(bytes([number])) for number in range(5)]
    assert fates == ["", "", "", "queue", "queue"]
    drain(agenda)
    assert [frame[0] for _, frame in arrived] == [0, 1, 2]
    assert wire.drops == 2


def ecn_bits(frame):
    return frame[15] & 3


def test_a_frame_is_marked_when_as_many_wait_as_the_threshold_says():
    agenda, wire, arrived = make(queue=4, ecn_threshold=2)
    frames = [request(psn) for psn in range(7)]
    # Of the frames before it, one is being sent: the fourth is the first that finds two waiting; five fill wire and
    # queue.
    assert [wire.send(frame) for frame in frames] == [""] * 5 + ["queue"] * 2
    drain(agenda)
    assert [ecn_bits(frame) for _, frame in arrived] == [2, 2, 2, 3, 3]
    assert (wire.marks, wire.drops) == (2, 2)
    for (_, frame), sent in zip(arrived, frames, strict=False):
        packet = decode_packet(frame)
        assert header_sum(frame) == header_sum(sent) == 0xFFFF
        assert icrc_is_valid(frame)
        assert packet.bth == decode_packet(sent).bth


def header_sum(frame):
    """Of the IPv4 header in ones' complement: 0xffff when its checksum is right (RFC 1071)."""
    total = sum(int.from_bytes(frame[at : at + 2], "big") for at in range(14, 34, 2))
    return (total & 0xFFFF) + (total >> 16)


def test_marking_takes_the_length_of_the_moment():
    agenda, wire, arrived = make(ecn_threshold=1)
    for burst in range(2):
        for psn in range(3):
            wire.send(request(burst << 8 | psn))
        drain(agenda)
    assert [ecn_bits(frame) for _, frame in arrived] == [2, 2, 3] * 2


def test_only_ecn_capable_packets_are_marked():
    agenda, wire, arrived = make(ecn_threshold=1)
    frames = [request(1), request(2), request(3, tos=0), request(4, tos=1), request(5, tos=3), arp(), b"\0" * 15]
    for frame in frames:
        wire.send(frame)
    drain(agenda)
    got = [frame for _, frame in arrived]
    assert [ecn_bits(frame) for frame in got[:5]] == [2, 2, 0, 3, 3]
    assert got[:3] + got[4:] == frames[:3] + frames[4:]
    assert wire.marks == 1


def test_a_queue_without_threshold_never_marks():
    agenda, wire, arrived = make(queue=3)
    frames = [request(psn) for psn in range(4)]
    for frame in frames:
        wire.send(frame)
    drain(agenda)
    assert [frame for _, frame in arrived] == frames
    assert wire.marks == 0


def test_a_pulling_nic_is_asked_only_when_the_wire_is_free():
    agenda, wire, arrived = make()
    waiting, asked = [bytes(125)] * 3, []

    def pull():
        asked.append(agenda.now)
        return waiting.pop() if waiting else None

    wire.refill = pull
    wire.kick()
    wire.kick()
    drain(agenda)
    assert asked == [0, 1000, 2000, 3000]
    assert len(arrived) == 3


def test_a_rate_change_takes_effect_with_the_next_frame():
    agenda, wire, arrived = make()
    wire.send(bytes(125))
    wire.send(bytes(125))
    wire.rate_bps = 100_000_000
    drain(agenda)
    assert [time for time, _ in arrived] == [1000, 11000]


def test_a_frame_longer_than_the_mtu_is_dropped():
    agenda, wire, arrived = make()
    assert wire.send(bytes(300 + 14)) == ""
    assert wire.send(bytes(300 + 15)) == "misfit"
    drain(agenda)
    assert (len(arrived), wire.drops) == (1, 1)


def trimming(queue=2, ecn_threshold=None):
    agenda = Agenda(1)
    shape = LinkShape(8_000_000, queue_packets=queue, ecn_threshold_packets=ecn_threshold, queue_full="trim")
    wire, arrived = Wire(agenda, 0, shape), []
    wire.deliver = arrived.append
    return agenda, wire, arrived


def test_a_full_queue_that_trims_takes_headers_behind_what_waits():
    agenda, wire, arrived = trimming()
    frames = [request(number) for number in range(5)]
    assert [wire.send(frame) for frame in frames] == [""] * 5
    assert wire.cut == trim(frames[4])
    drain(agenda)
    assert arrived == [*frames[:3], *map(trim, frames[3:])], "in the order in which they came, and none is marked"
    assert (wire.trimmed, wire.drops, wire.marks) == (2, 0, 0)


def test_the_reserve_takes_answers_and_what_is_cut_already_and_has_an_end():
    agenda, wire, arrived = trimming(queue=1)
    small = [trim(request(7)), answer(3)]
    for frame in (request(1), request(2), *small):
        assert wire.send(frame) == ""
        assert wire.cut is None
    assert [wire.send(bytes(100)), wire.send(arp())] == ["queue", "queue"], "nothing else does"
    fates = [wire.send(request(number)) for number in range(RESERVE)]
    assert fates == [""] * (RESERVE - 2) + ["queue"] * 2
    assert wire.cut is None
    assert (wire.trimmed, wire.drops) == (RESERVE - 2, 4)
    drain(agenda)
    assert arrived[2:4] == small


def test_a_link_that_marks_marks_what_it_trims():
    agenda, wire, arrived = trimming(ecn_threshold=1)
    for number in range(4):
        wire.send(request(number))
    drain(agenda)
    assert [ecn_bits(frame) for frame in arrived] == [2, 2, 3, 3]
    assert (wire.trimmed, wire.marks) == (1, 2)


def of_class(number, dscp):
    return request(number, tos=dscp << 2 | 2)


def classes(**shape):
    agenda = Agenda(1)
    wire, arrived = Wire(agenda, 0, LinkShape(8_000_000, **shape)), []
    wire.deliver = arrived.append
    return agenda, wire, arrived


def dscps(frames):
    return [frame[15] >> 2 for frame in frames]


def test_layer_classes_are_served_strictly_and_in_order_within_one():
    agenda, wire, arrived = classes(priority="layers")
    frames = [of_class(number, dscp) for number, dscp in enumerate((15, 15, 12, 14, 8, 9, 13, 10, 0, 26))]
    for frame in frames:
        assert wire.send(frame) == ""
    for _ in range(3):
        agenda.step()
    late = of_class(11, 8)
    wire.send(late)
    drain(agenda)
    order = [0, 4, 5, 8, 9, "late", 7, 2, 6, 1, 3]
    assert arrived == [late if at == "late" else frames[at] for at in order]
    assert (wire.waiting, wire.early, wire.drops) == (0, 0, 0)


def test_without_priority_frames_leave_as_they_came():
    agenda, wire, arrived = classes(drop_low_above_packets=9)
    frames = [of_class(number, dscp) for number, dscp in enumerate((15, 12, 8, 10, 0))]
    for frame in frames:
        wire.send(frame)
    drain(agenda)
    assert arrived == frames


def test_the_low_class_is_dropped_early_and_nothing_else_before_the_queue_is_full():
    agenda, wire, arrived = classes(queue_packets=4, drop_low_above_packets=2)
    sent = [(9, ""), (9, ""), (9, ""), (9, "early"), (11, "early"), (8, ""), (15, "early"), (0, ""), (15, "queue")]
    sent += [(8, "queue"), (0, "queue")]
    assert [(dscp, wire.send(of_class(1, dscp))) for dscp, _ in sent] == sent
    assert (wire.early, wire.drops, wire.waiting_with(of_class(1, 15))) == (3, 3, 4)
    drain(agenda)
    assert dscps(arrived) == [9, 9, 9, 8, 0]


def test_each_layer_class_has_a_queue_with_limits_of_its_own():
    agenda, wire, arrived = classes(
        priority="layers", queue_packets=2, drop_low_above_packets=1, ecn_threshold_packets=1
    )
    assert wire.send(of_class(0, 0)) == ""
    fates = [[wire.send(of_class(1, dscp)) for dscp in (low, low, low - 1, low - 1)] for low in (9, 11, 13, 15)]
    assert fates == [["", "early", "", "queue"]] * 4
    assert (wire.waiting, wire.waiting_with(of_class(1, 15)), wire.waiting_with(of_class(1, 26))) == (8, 2, 2)
    drain(agenda)
    assert dscps(arrived) == [0, 9, 8, 11, 10, 13, 12, 15, 14]
    assert [ecn_bits(frame) for frame in arrived] == [2] + [2, 3] * 4
    assert (wire.early, wire.drops, wire.marks) == (4, 4, 4)


def test_what_knows_no_classes_drops_by_length_alone():
    _, wire, _ = classes(queue_packets=2)
    assert [wire.send(of_class(1, dscp)) for dscp in (9, 9, 9, 9, 8)] == ["", "", "", "queue", "queue"]
    assert (wire.tells_drops, wire.early) == (False, 0)


def shares_of_marks(red, seed=1, rounds=4000):
    """By number of frames that wait: the share of frames that come then and are marked."""
    agenda = Agenda(seed)
    wire = Wire(agenda, 3, LinkShape(10**9, queue_packets=12, mtu=300, red=red))
    marked, came = [0] * 12, [0] * 12
    wire.deliver = lambda frame: None
    for _ in range(rounds // 10):
        for psn in range(12):
            before, waiting = wire.marks, wire.waiting
            wire.send(request(psn))
            marked[waiting] += wire.marks - before
            came[waiting] += 1
        drain(agenda)
    return [marks / max(1, count) for marks, count in zip(marked, came, strict=True)]


def test_red_marks_with_a_probability_that_rises_in_a_straight_line():
    found = shares_of_marks(RedShape(2, 10, 0.4))
    assert found[:3] == [0, 0, 0]
    assert found[10] == 1
    for waiting in range(3, 10):
        assert abs(found[waiting] - 0.4 * (waiting - 2) / 8) < 0.08


def test_red_follows_from_the_seed():
    red = RedShape(0, 11, 0.5)
    assert shares_of_marks(red, rounds=200) == shares_of_marks(red, rounds=200)
    assert shares_of_marks(red, rounds=200) != shares_of_marks(red, seed=2, rounds=200)


def test_weighted_classes_share_a_link_by_bytes_below_strict_ones():
    """Class 0 is strict. Classes 1 and 2 always wait, and share 2 to 1, with frames of two sizes."""
    agenda, wire, arrived = classes(priority="weighted", weights=(0, 50, 25, 25), mtu=600)
    wire.send(of_class(0, 0))
    for number in range(90):
        assert wire.send(of_class(number, 10)) == ""
        assert wire.send(request(number, tos=13 << 2 | 2, payload=bytes(400))) == ""
    wire.send(of_class(1, 8))
    drain(agenda)
    assert dscps(arrived)[:2] == [0, 8]
    sent = {10: 0, 13: 0}
    for frame in arrived[2:]:
        sent[frame[15] >> 2] += len(frame)
        if sent[10] < 90 * len(of_class(0, 10)):
            assert abs(sent[10] - 2 * sum(sent.values()) / 3) <= 614


def test_fair_queues_are_of_flows_with_limits_of_their_own():
    agenda, wire, arrived = classes(priority="fair", queue_packets=3, ecn_threshold_packets=2, mtu=len(request(0)) - 14)
    flows = [[request(number, connection=flow) for number in range(5)] for flow in range(2)]
    fates = [wire.send(frame) for own in flows for frame in own]
    assert fates == [""] * 4 + ["queue"] + [""] * 3 + ["queue"] * 2
    assert (wire.waiting, wire.waiting_with(flows[0][0]), wire.drops) == (6, 3, 3)
    drain(agenda)
    order = [(0, 0), (0, 1), (1, 0), (0, 2), (1, 1), (0, 3), (1, 2)]
    assert [frame[26:34] for frame in arrived] == [flows[flow][0][26:34] for flow, _ in order]
    assert [ecn_bits(frame) for frame in arrived] == [2, 2, 2, 2, 2, 3, 3]
