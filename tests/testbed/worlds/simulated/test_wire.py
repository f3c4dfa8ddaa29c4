from testbed.worlds.simulated.agenda import Agenda
from testbed.worlds.simulated.wire import Wire
from topologies import LinkShape


def make(rate_bps=1_000_000_000, queue=10):
    agenda = Agenda(1)
    wire, arrived = Wire(agenda, 0, LinkShape(rate_bps, queue_packets=queue, mtu=300)), []
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
