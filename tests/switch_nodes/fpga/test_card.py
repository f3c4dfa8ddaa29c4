"""The emulated card, by its bus and its ports."""

import numpy as np
import pytest

from switch_nodes.events import SwitchStatistics
from switch_nodes.fpga.bitstream import reference_bitstream
from switch_nodes.fpga.card import EmulatedCard
from switch_nodes.fpga.events import CardCommanded, CardFaultStruck, CardLoaded
from switch_nodes.fpga.faults import AgentDies, GarbageReads, StopsPassing
from switch_nodes.fpga.golden import play
from switch_nodes.fpga.registers import doubled
from switch_nodes.fpga.regmap import REGISTERS, Command, Failure, Status
from switch_nodes.netreduce.program import NetReduceProgram
from switch_nodes.program import SwitchProgram
from tests.support.cards import BITS, CardBench, card_config, job_trace
from tests.support.netreduce_harness import small_job
from workloads.errors import ScenarioError
from workloads.machine import BatchMachine, FrameBatch

JOB = small_job()


def running(**options):
    bench = CardBench(3, **options)
    bench.driver.bring_up(BITS, card_config())
    return bench


def command(bench, word):
    bench.card.write(REGISTERS["CONTROL"].address, word.to_bytes(4, "little"), bench.clock())
    return Failure(bench.driver.words.word("ERROR"))


def events(card):
    found = []
    while (event := card.next_event()) is not None:
        found.append(event)
    return found


def test_it_is_a_program_of_a_switch():
    card = EmulatedCard(2)
    assert isinstance(card, SwitchProgram)
    assert isinstance(card, BatchMachine)
    for ports in (0, 65):
        with pytest.raises(ScenarioError, match="ports of a card"):
            EmulatedCard(ports)


def test_it_emits_what_the_reference_emits():
    trace = job_trace(JOB)
    assert play(running().card, trace) == play(NetReduceProgram(JOB.config()), trace)


def test_batches_and_single_frames_give_the_same_bytes():
    trace = job_trace(JOB)
    single = [(output.port, output.frame) for output in play(running().card, trace)]
    card, found = running().card, []
    for start in range(0, len(trace), 5):
        batch = FrameBatch.of(8, 2048)
        for item in trace[start : start + 5]:
            batch.append(item.port, item.frame)
        card.receive_batch(batch, 0)
        out = FrameBatch.of(4, 2048)
        while True:
            out.count = 0
            card.fill_batch(out, 0)
            if not out.count:
                break
            found += [(int(out.ports[row]), bytes(out.row(row))) for row in range(out.count)]
    assert sorted(found) == sorted(single)
    assert card.counters["frames_out"] == len(single)
    assert card.counters["frames_in"] == len(trace)


@pytest.mark.parametrize("command_name", ["STOP", "RESET", "ERASE", "LOAD_BEGIN"])
def test_nothing_passes_but_between_start_and_stop(command_name):
    bench = running()
    frame = JOB.answer(0, 5, 1)
    assert len(play(bench.card, job_trace(JOB)[-1:])) == 1
    assert command(bench, doubled(Command[command_name])) is Failure.NONE
    assert play(bench.card, job_trace(JOB)[-1:]) == []
    batch = FrameBatch.of(2, 2048)
    batch.append(1, frame)
    bench.card.receive_batch(batch, 0)
    batch.count = 0
    bench.card.fill_batch(batch, 0)
    assert batch.count == 0
    assert bench.card.counters["not_running"] == 2


def test_stop_and_start_keep_the_state_of_slots():
    bench = running()
    for rank in (0, 1):
        bench.card.receive_frame(rank, JOB.frame(rank, 0, 0), 0)
    bench.driver.stop()
    bench.driver.start()
    bench.card.receive_frame(2, JOB.frame(2, 0, 0), 0)
    assert [bytes(frame) for _, frame in bench.card.frames_to_send(0)] == [JOB.result(rank, 0, 0) for rank in range(3)]


@pytest.mark.parametrize(
    ("word", "failure"),
    [
        (5, Failure.UNKNOWN_COMMAND),
        (0xFFFFFFFF, Failure.UNKNOWN_COMMAND),
        (doubled(77), Failure.UNKNOWN_COMMAND),
        (doubled(Command.START), Failure.NOT_PROGRAMMED),
        (doubled(Command.APPLY), Failure.NOT_PROGRAMMED),
        (doubled(Command.LOAD_END), Failure.NOT_LOADING),
        (doubled(Command.LATCH), Failure.NONE),
    ],
)
def test_commands_that_come_at_the_wrong_time(word, failure):
    bench = CardBench(3)
    assert command(bench, word) is failure
    assert [event.failure for event in events(bench.card) if isinstance(event, CardCommanded)] == [failure.name.lower()]
    assert bench.driver.words.word("COMMANDS") == 1


def test_a_programmed_card_does_not_start_without_configuration():
    bench = CardBench(3)
    bench.driver.program(BITS)
    assert command(bench, doubled(Command.START)) is Failure.NOT_CONFIGURED


def test_a_busy_card_takes_no_command():
    bench = CardBench(3, load_ns=50)
    bench.clock.now = 7
    bench.driver.words.write("LOAD_SIZE", 1024)
    assert command(bench, doubled(Command.LOAD_BEGIN)) is Failure.NONE
    bench.driver.words.write("LOAD_PAGE", 0)
    assert command(bench, doubled(Command.LOAD_END)) is Failure.NONE
    assert bench.card.get_timer() == 57
    assert bench.driver.words.status() == Status.BUSY
    assert command(bench, doubled(Command.START)) is Failure.BUSY
    bench.card.handle_timer(56)
    assert bench.card.status == Status.BUSY
    bench.card.handle_timer(57)
    assert bench.card.status == 0
    assert events(bench.card)[-1] == CardLoaded("", "", "wrong_hash")


def test_apply_needs_the_check_of_what_was_written():
    bench = running()
    bench.driver.words.write("RELEASE", 1)
    bench.driver.words.write("EXPECTED_CHECK", 1)
    assert command(bench, doubled(Command.APPLY)) is Failure.WRONG_CHECK
    assert bench.driver.configuration().release == "order"
    assert Status.RUNNING in bench.card.status


@pytest.mark.parametrize(
    ("register", "value", "about"),
    [("RING0_OP", 7, "RING0_OP"), ("RING0_MEMBER1_RANK", 5, ""), ("RING0_WINDOW", 1 << 20, "MAX_SLOTS"),
        ("RING0_MEMBER2_PORT", 3, "RING0_MEMBER2_PORT")],
)  # fmt: skip
def test_values_that_cannot_be_are_refused_and_what_was_active_stays(register, value, about):
    bench = running()
    words = bench.driver.words
    words.write(register, value)
    words.write("EXPECTED_CHECK", words.word("STAGED_CHECK"))
    assert command(bench, doubled(Command.APPLY)) is Failure.REFUSED_VALUE
    assert words.failure() == (Failure.REFUSED_VALUE, about)
    assert play(bench.card, job_trace(JOB)) == play(NetReduceProgram(JOB.config()), job_trace(JOB))


def test_writes_where_nothing_can_be_written_are_told():
    bench = CardBench(3)
    bench.driver.words.write("MAGIC", 5)
    assert bench.driver.words.failure() == (Failure.NOT_WRITABLE, "MAGIC")


def test_learnt_queue_pairs_are_in_the_registers_of_members():
    bench = running()
    play(bench.card, job_trace(JOB))
    read = bench.driver.words.word
    assert [read(f"RING0_MEMBER{rank}_QPN") for rank in range(4)] == [0x100, 0x101, 0x102, 0xFFFFFFFF]
    assert read("RING1_MEMBER0_QPN") == 0xFFFFFFFF


def test_counters_of_the_program_and_of_the_ports():
    bench = running()
    trace = job_trace(JOB)
    outputs = play(bench.card, trace)
    counters = bench.driver.counters()
    assert counters["frames_in"] == len(trace)
    assert counters["frames_out"] == len(outputs)
    assert counters["results_out"] == counters["data_in"] == len(trace) - 1
    assert counters["forwarded"] == 1


def test_counters_go_on_over_another_configuration():
    bench = running()
    play(bench.card, job_trace(JOB))
    before = bench.driver.counters()
    bench.driver.configure(card_config(release="asap"))
    assert bench.driver.counters() == before
    play(bench.card, job_trace(JOB))
    assert bench.driver.counters() == {name: 2 * count for name, count in before.items()}


def test_reset_forgets_everything_but_the_bitstream():
    bench = running()
    play(bench.card, job_trace(JOB))
    bench.driver.reset()
    assert bench.card.status == Status.PROGRAMMED
    assert set(bench.driver.counters().values()) == {0}
    assert bench.driver.state().boots == 2


def test_the_fault_that_stops_frames_leaves_registers_alive():
    bench, outputs = running(faults=[StopsPassing(3)]), []
    for item in job_trace(JOB):
        bench.card.receive_frame(item.port, item.frame, 0)
        outputs.append(len(list(bench.card.frames_to_send(0))))
    assert outputs == [0, 0, 3] + [0] * (len(outputs) - 3)
    assert Status.RUNNING in bench.driver.state().status
    struck = [event for event in events(bench.card) if isinstance(event, CardFaultStruck)]
    assert struck == [CardFaultStruck("StopsPassing")]
    batch = FrameBatch.of(2, 2048)
    batch.append(1, JOB.answer(0, 5, 1))
    bench.card.receive_batch(batch, 0)
    batch.count = 0
    bench.card.fill_batch(batch, 0)
    assert batch.count == 0


def test_a_dead_agent_leaves_frames_passing():
    bench = running()
    bench.fault_now(AgentDies(0))
    with pytest.raises(ConnectionResetError):
        bench.card.read(0, 4, 0)
    assert play(bench.card, job_trace(JOB)) == play(NetReduceProgram(JOB.config()), job_trace(JOB))


def test_garbage_begins_and_ends_where_it_should():
    card = EmulatedCard(2, faults=[GarbageReads(2, count=3)])
    good = EmulatedCard(2)
    words = np.frombuffer(card.read(0x10, 32, 0), "<u4")
    right = np.frombuffer(good.read(0x10, 32, 0), "<u4")
    assert (words != right).tolist() == [False, False, True, True, True, False, False, False]
    noisy = EmulatedCard(2, faults=[GarbageReads(0, noise=True)])
    assert all(np.frombuffer(noisy.read(0x10, 32, 0), "<u4") != right)


@pytest.mark.parametrize(("address", "size"), [(1, 4), (0, 3), (0, 0), (-4, 4)])
def test_accesses_that_are_not_whole_words(address, size):
    with pytest.raises(ValueError, match="not whole words"):
        EmulatedCard(2).read(address, size, 0)


def test_the_end_of_a_card():
    bench = running()
    play(bench.card, job_trace(JOB))
    bench.card.finish(5)
    names = [type(event).__name__ for event in events(bench.card)]
    assert names[-2:] == ["SlotsAtEnd", "SwitchStatistics"]
    empty = EmulatedCard(2)
    empty.finish(5)
    assert events(empty) == [SwitchStatistics({"frames_in": 0, "frames_out": 0, "not_running": 0})]


def test_other_bits_are_another_program_of_the_same_card():
    bench = CardBench(3, programs={"netreduce": NetReduceProgram, "again": NetReduceProgram})
    bench.driver.bring_up(BITS, card_config())
    assert bench.driver.program(reference_bitstream("again", "2.5"))
    state = bench.driver.state()
    assert (state.program, state.program_version, state.status) == ("again", "2.5", Status.PROGRAMMED)
