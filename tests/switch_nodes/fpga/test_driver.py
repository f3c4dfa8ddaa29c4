"""The driver against a card that obeys, a bus that does not, and a card that is broken."""

import re
from dataclasses import replace

import pytest

from switch_nodes.fpga.bitstream import reference_bitstream
from switch_nodes.fpga.conversion import as_registers_say
from switch_nodes.fpga.driver import CardDriver
from switch_nodes.fpga.errors import CardError
from switch_nodes.fpga.faults import AgentDies, GarbageReads, ProgrammingFails, WrongBitstream
from switch_nodes.fpga.golden import play
from switch_nodes.fpga.registers import doubled
from switch_nodes.fpga.regmap import CONFIGURATION, COUNTERS, REGISTERS, Feature, LoadState, Status
from switch_nodes.netreduce.program import NetReduceProgram
from tests.support.cards import BITS, Bus, CardBench, card_config, job_trace
from tests.support.netreduce_harness import small_job
from workloads.errors import LabError, ScenarioError

JOB = small_job()
OTHER = small_job(size=2, window=3)


def running(**options):
    bench = CardBench(3, **options)
    bench.driver.bring_up(BITS, card_config())
    return bench


def still_sums(card, job=JOB):
    return play(card, job_trace(job)) == play(NetReduceProgram(job.config()), job_trace(job))


def test_from_nothing_to_a_card_that_sums():
    bench = running(load_ns=30_000_000)
    identity, state = bench.driver.identity(), bench.driver.state()
    assert (identity.serial, identity.map_version, identity.ports) == ("emulated-0", "1.2", 3)
    assert len(identity.operations) == 9
    assert (state.status, state.load_state) == (
        Status.PROGRAMMED | Status.CONFIGURED | Status.RUNNING,
        LoadState.LOADED,
    )
    assert (state.program, state.program_version, state.applied, state.boots) == ("netreduce", "1.0", 1, 1)
    assert bench.driver.configuration() == as_registers_say(card_config())
    assert still_sums(bench.card)
    assert bench.clock() >= 30_000_000


def test_what_is_loaded_is_not_loaded_again():
    bench = running()
    assert not bench.driver.program(BITS)
    assert Status.RUNNING in bench.card.status
    assert bench.driver.program(reference_bitstream(size=7000))
    assert bench.card.status == Status.PROGRAMMED


def test_a_new_configuration_replaces_the_old_one_between_two_frames():
    bench = running()
    bench.driver.configure(replace(card_config(OTHER), ports=3))
    assert Status.RUNNING in bench.card.status
    assert still_sums(bench.card, OTHER)


def test_rings_that_stay_keep_their_state():
    bench = running()
    bench.card.receive_frame(0, JOB.frame(0, 0, 0), 0)
    second = replace(small_job(ring_id=9).ring(), generation=5)
    bench.driver.configure(card_config(rings=(JOB.ring(), second)))
    for rank in (1, 2):
        bench.card.receive_frame(rank, JOB.frame(rank, 0, 0), 0)
    assert len(list(bench.card.frames_to_send(0))) == 3


def spoil_config(change):
    """Of writes into the configuration, the third one."""
    seen = []

    def spoil(number, kind, address, data):
        if kind == "write" and address in CONFIGURATION:
            seen.append(address)
            if len(seen) == 3:
                return change(data)
        return data

    return spoil


@pytest.mark.parametrize(
    "change", [lambda data: None, lambda data: bytes((data[0] ^ 1,)) + data[1:],
        lambda data: data[:4] + data[:-4] if len(data) > 4 else data * 2],
    ids=["lost", "one bit", "shifted"],
)  # fmt: skip
def test_writes_that_do_not_arrive_never_come_into_use(change):
    bench = running()
    bench.bus.spoil = spoil_config(change)
    with pytest.raises(CardError) as caught:
        bench.driver.configure(card_config(OTHER, ports=3))
    assert caught.value.register == "STAGED_CHECK"
    assert "writes were lost, doubled or altered on the way" in str(caught.value)
    assert still_sums(bench.card)


def test_whoever_dies_at_any_access_of_a_configuration_leaves_the_old_or_the_new_one():
    """Never a third one; and the next configuration succeeds."""
    old, new = as_registers_say(card_config()), as_registers_say(card_config(OTHER, ports=3))
    bench = running()
    begin = bench.bus.accesses
    bench.driver.configure(new)
    total = bench.bus.accesses - begin
    assert total > 100
    seen = set()
    for last in range(0, total, 17):
        bench = running()
        bench.fault_now(AgentDies(bench.card._accesses + last))
        with pytest.raises(CardError, match="the card does not answer"):
            bench.driver.configure(new)
        bench.fault_now()
        found = bench.driver.configuration()
        assert found in (old, new)
        seen.add(found == new)
        assert Status.RUNNING in bench.card.status
        bench.driver.configure(new)
        assert still_sums(bench.card, OTHER)
    assert seen == {False, True}


def test_whoever_dies_at_any_access_of_a_load_leaves_a_card_that_passes_nothing():
    other = reference_bitstream(size=3000)
    for last in range(12, 60, 9):
        bench = running()
        bench.fault_now(AgentDies(bench.card._accesses + last))
        with pytest.raises(CardError, match="the card does not answer"):
            bench.driver.program(other)
        bench.fault_now()
        state = bench.driver.state()
        if state.load_state is LoadState.LOADED:
            continue  # died before LOAD_BEGIN
        assert (state.status, state.bitstream) == (Status(0), "")
        assert play(bench.card, job_trace(JOB)) == []
        bench.driver.bring_up(other, card_config())
        assert still_sums(bench.card)


def test_who_comes_while_a_load_of_a_dead_client_is_checked_waits_for_it():
    """Its LOAD_BEGIN would be refused, and the end of the other's load be taken for its own."""
    bench, other = running(load_ns=30_000_000), reference_bitstream(size=3000)

    def dies(duration_ns):
        raise KeyboardInterrupt

    dying = CardDriver(Bus(bench.card, bench.clock), card="c1", clock=bench.clock, sleep=dies)
    with pytest.raises(KeyboardInterrupt):
        dying.program(other)
    assert Status.BUSY in bench.card.status
    assert bench.driver.program(reference_bitstream(size=7000))
    assert bench.card.status == Status.PROGRAMMED


_NOBODY = (
    r"the card does not answer \(no answer\); a configuration under way is not in use, "
    r"and the next one begins from the start"
)
_NOISE = (
    r"reads are garbage: READ_CHECK does not fit the words read, 3 times; found 0x[0-9a-f]{8} for 0x[0-9a-f]{8}; allowed: "  # noqa: E501
    r"0x[0-9a-f]{8}; no card, another map, a dead bus, or somebody else reads at the same time"
)
_OTHER = (
    r"another bitstream was loaded than the one that was sent; found [0-9a-f]{64}; allowed: [0-9a-f]{64}; the card was "
    r"erased and passes nothing"
)
_BROKEN = r"page 3 of 6: the card refuses; found 10 LOAD_BROKEN; allowed: 0 NONE"
_ONES = r"no aggregation card answers; found 0xffffffff; allowed: 0x494e4143"
CASES = {
    "wrong bitstream": (WrongBitstream(), "BITSTREAM_HASH", _OTHER),
    "fails half way": (ProgrammingFails(3), "ERROR", _BROKEN),
    "agent dies": (AgentDies(30), "[A-Z_]+", _NOBODY),
    "dead bus": (GarbageReads(0), "MAGIC", _ONES),
    "noise": (GarbageReads(10, noise=True), "[A-Z_]+", _NOISE),
}


@pytest.mark.parametrize("name", CASES)
def test_faults_of_the_card_are_told_by_register_and_leave_nothing_running(name):
    fault, register, text = CASES[name]
    bench = CardBench(3, faults=[fault])
    with pytest.raises(CardError) as caught:
        bench.driver.bring_up(BITS, card_config())
    assert re.fullmatch(f"card c1: register {register}: {text}", str(caught.value)), str(caught.value)
    assert isinstance(caught.value, LabError)
    assert caught.value.exit_code == 75
    assert Status.RUNNING not in bench.card.status
    assert play(bench.card, job_trace(JOB)) == []
    bench.fault_now()
    bench.driver.bring_up(BITS, card_config())
    assert still_sums(bench.card)


@pytest.mark.parametrize("after", range(0, 2000, 197))
@pytest.mark.parametrize("noise", [False, True])
def test_garbage_at_any_time_is_noticed(after, noise):
    """Whatever was reported as done was done; and no exception but ours."""
    bench = CardBench(3, faults=[GarbageReads(after, noise=noise)])
    try:
        bench.driver.bring_up(BITS, card_config())
    except CardError:
        assert bench.card._garbled > 0
    else:
        assert bench.card._garbled == 0


def test_one_garbled_word_is_asked_for_again():
    bench = CardBench(3, faults=[GarbageReads(20, noise=True, count=1)])
    bench.driver.bring_up(BITS, card_config())
    assert bench.card._garbled == 1
    assert still_sums(bench.card)


def answering(bench, name, word):
    """The register reads as this, with a check that fits."""
    at, real = REGISTERS[name].address, bench.card._read_word

    def read(address):
        return bench.card.registers.show(address, word) if address == at else real(address)

    bench.card._read_word = read


@pytest.mark.parametrize(
    ("name", "word", "act", "text"),
    [
        ("MAP_VERSION", 2 << 16, "state", "register MAP_VERSION: another register map; found 2.0; allowed: 1.x"),
        ("ECHO", 1, "state", "register ECHO: does not give back what was written; found 0x00000001; allowed: 0x"),
        ("STATUS", 7, "state", "register STATUS: its halves are not complements; found 0x00000007"),
        ("ERROR", 99, "state", "register ERROR: a code that this map does not have; found 99; allowed: 0 .. 12"),
        ("LOAD_STATE", 9, "state", "register LOAD_STATE: a code that this map does not have; found 9; allowed: 0 .. 3"),
        ("SERIAL", 0xFF, "identity", "register SERIAL: no UTF-8 text"),
        ("STATUS", doubled(15), "stop", "register STATUS: busy for 5 s with what was there before STOP"),
        ("STATUS", doubled(7), "stop", "register STATUS: STOP was obeyed, and the card runs"),
        ("STATUS", doubled(3), "start", "register STATUS: START was obeyed, and the card does not run"),
        ("COMMANDS", 3, "stop", "register COMMANDS: STOP was not taken exactly once; found 0x3; allowed: 0x4"),
        ("BOOTS", 1, "reset", "register BOOTS: RESET did not happen once; found 0x1; allowed: 0x2"),
    ],
)
def test_registers_that_say_what_cannot_be(name, word, act, text):
    bench = running()
    answering(bench, name, word)
    with pytest.raises(CardError) as caught:
        getattr(bench.driver, act)()
    assert str(caught.value).startswith(f"card c1: {text}")


@pytest.mark.parametrize(("act", "command"), [("stop", "STOP"), ("start", "START"), ("reset", "RESET")])
def test_a_command_that_is_never_done_is_given_up(act, command):
    """The card takes it and stays busy: in bounded time, with the command's name."""
    bench = running()
    taken, real = REGISTERS["STATUS"].address, bench.card._read_word
    before = bench.card.registers.get("COMMANDS")

    def read(address):
        if address == taken and bench.card.registers.get("COMMANDS") != before:
            return bench.card.registers.show(address, doubled(15))
        return real(address)

    bench.card._read_word = read
    began = bench.clock()
    with pytest.raises(CardError) as caught:
        getattr(bench.driver, act)()
    assert str(caught.value) == f"card c1: register STATUS: {command} is not done after 5 s; found BUSY"
    assert bench.clock() - began < 6_000_000_000


def test_a_load_that_is_never_done_is_given_up():
    bench = CardBench(3, load_ns=10_000_000_000)
    with pytest.raises(CardError) as caught:
        bench.driver.program(BITS, limit_ns=2_000_000_000)
    assert str(caught.value) == "card c1: register STATUS: LOAD_END is not done after 2 s; found BUSY"
    assert Status.RUNNING not in bench.card.status
    assert play(bench.card, job_trace(JOB)) == []
    bench.clock.sleep(10_000_000_000)
    bench.driver.bring_up(BITS, card_config())
    assert still_sums(bench.card)


@pytest.mark.parametrize(
    ("name", "word", "text"),
    [
        ("APPLIED", 7, "APPLY did not happen once"),
        ("ACTIVE_CHECK", 7, "something else is active than what was applied"),
        ("STATUS", doubled(Status.PROGRAMMED), "APPLY was obeyed, and nothing is active"),
        ("STATUS", doubled(0), "no bitstream is loaded"),
        ("RING0_WINDOW", 4, "the staged bank does not hold what was written"),
    ],
)
def test_configurations_that_did_not_come_about(name, word, text):
    bench = running()
    answering(bench, name, word)
    with pytest.raises(CardError, match=text):
        bench.driver.configure(card_config())


def test_counters_are_of_one_moment():
    bench = running()
    values = iter(range(100))
    answering(bench, "LATCHES", 0)
    real = bench.card._read_word
    at = REGISTERS["LATCHES"].address
    bench.card._read_word = lambda address: (
        bench.card.registers.show(address, next(values)) if address == at else real(address)
    )
    with pytest.raises(CardError, match="register LATCHES: somebody else latches the counters all the time"):
        bench.driver.counters()


@pytest.mark.parametrize(("minor", "lacks"), [(0, ["unforeseen", "trimmed"]), (1, ["trimmed"]), (2, []), (3, [])])
def test_a_card_of_another_map_is_asked_for_its_counters_alone(minor, lacks):
    bench = running()
    answering(bench, "MAP_VERSION", 1 << 16 | minor)
    behind = REGISTERS[f"COUNT_{lacks[0].upper()}"].address if lacks else CONFIGURATION.start
    real = bench.card._read_word

    def read(address):
        assert address < behind or address >= CONFIGURATION.start or address == REGISTERS["LOAD_BUFFER"].address
        return real(address)

    bench.card._read_word = read
    assert set(COUNTERS) - set(bench.driver.counters()) == set(lacks)


@pytest.mark.parametrize(
    ("register", "value", "text"),
    [
        ("PORTS", 2, "switch s1 needs more than card c1 has (register PORTS); found 3; allowed: at most 2"),
        ("MAX_RINGS", 0, "switch s1 needs more than card c1 has (register MAX_RINGS); found 1; allowed: at most 0"),
        ("MAX_MEMBERS", 2, "switch s1 needs more than card c1 has (register MAX_MEMBERS); found 3; allowed: at most 2"),
        ("MAX_MACS", 1, "switch s1 needs more than card c1 has (register MAX_MACS); found 3; allowed: at most 1"),
        ("MAX_SLOTS", 15, "switch s1 needs more than card c1 has (register MAX_SLOTS); found 16; allowed: at most 15"),
        ("OPERATIONS", 1, ("switch s1: ring 7: card c1 cannot do this arithmetic; found sum of int32; allowed: sum of "
                          "float32")),
    ],
)  # fmt: skip
def test_what_this_card_cannot_be_is_the_users_mistake(register, value, text):
    bench = running()
    answering(bench, register, value)
    with pytest.raises(ScenarioError) as caught:
        bench.driver.configure(card_config())
    assert str(caught.value) == f"scenario: {text}"


def test_features_that_a_card_lacks():
    bench = running()
    answering(bench, "FEATURES", int(Feature.LOADS))
    with pytest.raises(ScenarioError, match="card c1 lacks a feature; found IPV6; allowed: LOADS"):
        bench.driver.configure(card_config(small_job(ipv6=True)))
    answering(bench, "FEATURES", 0)
    with pytest.raises(
        CardError, match=r"this card is not loaded through its registers.*load it with the card's own tool"
    ):
        bench.driver.program(reference_bitstream(size=10))
    assert Status.RUNNING in bench.card.status


def test_an_unconfigured_card_has_no_configuration():
    with pytest.raises(CardError, match="register STATUS: nothing was applied; found nothing; allowed: CONFIGURED"):
        CardBench(3).driver.configuration()


def test_the_dump_names_every_readable_word_once():
    names = [name for name, _, _ in running().driver.dump()]
    assert len(names) == len(set(names))
    assert {"MAGIC", "STATUS", "BITSTREAM_HASH[7]", "COUNT_ICRC"} <= set(names)
    assert not {"CONTROL", "READ_CHECK"} & set(names)


def test_a_full_ring_goes_through_the_registers():
    job = small_job(size=64, lengths=(1,), window=1)
    bench = CardBench(64)
    bench.driver.bring_up(BITS, card_config(job))
    assert bench.driver.configuration() == as_registers_say(card_config(job))
