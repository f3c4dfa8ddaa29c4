"""`tb card` without a network: registers over a unix socket, golden traces in memory."""

from __future__ import annotations

import json
import threading
import time

import pytest

from switch_nodes.fpga import program
from switch_nodes.fpga.bitstream import bitstream_hash, reference_bitstream
from switch_nodes.fpga.card import EmulatedCard
from switch_nodes.fpga.datagrams import RegisterServer
from switch_nodes.fpga.faults import AgentDies, ProgrammingFails
from switch_nodes.fpga.io.datagram import RegisterSocket, listen_unix
from switch_nodes.fpga.regmap import Status
from testbed.cli import main
from testbed.lab.cards.configfile import config_text
from tests.support.cards import CardBench, card_config, one_bit_wrong
from tests.support.netreduce_harness import small_job

RACK = ["card", "golden", "rack", "--set", "job.size=40kB", "--seed", "2"]


@pytest.fixture
def served(tmp_path):
    """(card, its address)"""
    card, path, over = EmulatedCard(4), tmp_path / "card.sock", threading.Event()
    registers = RegisterSocket(listen_unix(path), RegisterServer(card), time.monotonic_ns)

    def serve():
        while not over.is_set():
            registers.serve()
            time.sleep(0.0002)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield card, f"unix:{path}"
    over.set()
    thread.join()
    registers.socket.close()


@pytest.fixture
def files(tmp_path):
    """(bitstream, configuration)"""
    bits, config = tmp_path / "n.bit", tmp_path / "switch.json"
    assert main(["card", "bitstream", "--out", str(bits)]) == 0
    config.write_text(config_text(card_config()))
    return str(bits), str(config)


def test_from_a_bitstream_to_a_running_card(served, files, capsys):
    card, address = served
    digest = bitstream_hash(reference_bitstream()).hex()
    capsys.readouterr()
    assert main(["card", "program", "--card", address, files[0]]) == 0
    assert main(["card", "program", "--card", address, files[0]]) == 0
    assert main(["card", "configure", "--card", address, "--config", files[1], "--no-start"]) == 0
    assert card.status == Status.PROGRAMMED | Status.CONFIGURED
    assert main(["card", "configure", "--card", address, "--config", files[1]]) == 0
    assert capsys.readouterr().out == (
        f"loaded: {digest}\nwas loaded already: {digest}\nconfigured: s1, rings: 7\nruns: s1, rings: 7\n"
    )
    assert Status.RUNNING in card.status
    assert main(["card", "check", "--card", address, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["status"], facts["bitstream"], facts["label"], facts["rings"]) == (
        "PROGRAMMED|CONFIGURED|RUNNING", digest, "s1", [7],
    )  # fmt: skip
    assert main(["card", "check", "--card", address]) == 0
    assert "status             PROGRAMMED|CONFIGURED|RUNNING\n" in capsys.readouterr().out
    assert main(["card", "stop", "--card", address]) == 0
    assert Status.RUNNING not in card.status
    assert main(["card", "reset", "--card", address]) == 0
    assert card.status == Status.PROGRAMMED


def test_registers_of_the_map_and_of_a_card(served, capsys):
    assert main(["card", "registers"]) == 0
    assert "  0x0000  MAGIC " in capsys.readouterr().out
    assert main(["card", "registers", "--card", served[1]]) == 0
    assert "0x0000  MAGIC                    0x494e4143\n" in capsys.readouterr().out
    assert main(["card", "registers", "--card", served[1], "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["name"] == "MAGIC"


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (ProgrammingFails(1), "register ERROR: page 1 of 6: the card refuses; found 10 LOAD_BROKEN; allowed: 0 NONE"),
        (AgentDies(0), "register MAGIC: the card does not answer (no answer to 5 requests in 1 s)"),
    ],
)
def test_what_a_card_does_wrong_ends_with_75(served, files, capsys, fault, text):
    card, address = served
    card.faults = {type(fault): fault}
    assert main(["card", "program", "--card", address, files[0]]) == 75
    assert f"tb: card {address}: {text}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["card"], 64, "the following arguments are required: ACTION"),
        (["card", "check"], 64, "--card: is missing; allowed: an address; or --rtl and --map"),
        (["card", "check", "--card", "x"], 64, "tb card: --card: no address of a card's registers; found 'x'"),
        (["card", "check", "--card", "unix:/none"], 75,
            "card unix:/none: nothing is there (No such file or directory)"),
        (["card", "program", "--card", "unix:/none", "x"], 75, "nothing is there"),
        (["card", "golden", "none"], 64, "no such scenario"),
        (["card", "golden", "x.pcapng"], 64, ("tb card golden: --config: is missing; allowed: the switch's "
                                             "configuration")),
        (["card", "golden", "rack", "--config", "x"], 64, "--config: a scenario says how its switch is configured"),
        (["card", "golden", "ring"], 64, "no switch sums in this scenario"),
        ([*RACK, "--port", "a"], 64, "--port: leads nowhere without a card; allowed: with --card"),
        ([*RACK, "--fault", "fire"], 64, "--fault: no such fault of a card; found 'fire'"),
        ([*RACK, "--fault", "wrong-psn", "--card", "unix:/none"], 64, ("--fault: a real card has its own; allowed: "
                                                                      "without --card")),
        (["card", "bitstream", "--out", "/none/x"], 64, ("/none/x: --out: cannot be written; found No such file or "
                                                        "directory")),
        (["card", "serve", "--port", "a", "--listen", "x", "--fault", "fire"], 64, "--fault: no such fault of a card"),
        (["card", "serve", "--port", "a", "--listen", "x", "--serial", "s" * 17], 64, "is no text of at most 16 bytes"),
    ],
)  # fmt: skip
def test_mistakes(words, code, text, capsys):
    assert main(words) == code
    assert text in capsys.readouterr().err


def test_a_golden_run_in_memory(tmp_path, capsys):
    out = tmp_path / "vectors"
    assert main([*RACK, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.endswith("Verdict: PASS\n")
    assert sorted(path.name for path in out.iterdir()) == [
        "expected.pcapng", "found.pcapng", "in.pcapng", "registers.txt", "switch.json",
    ]  # fmt: skip
    assert "0x01000 0x00003173 LABEL[0]\n" in (out / "registers.txt").read_text()
    assert main(["card", "golden", str(out / "in.pcapng"), "--config", str(out / "switch.json")]) == 0
    assert capsys.readouterr().out == said


def wrong_card(config, faults):
    wrong = one_bit_wrong(170 + 2)  # message 1, offset 2
    bench = CardBench(config.ports, programs={"netreduce": wrong})
    bench.driver.bring_up(reference_bitstream(), config)
    return bench.card


def test_a_card_with_one_wrong_bit_fails_and_is_shown(monkeypatch, capsys):
    monkeypatch.setattr("testbed.cli.cardgolden.create_card", wrong_card)
    assert main(RACK) == 1
    said = capsys.readouterr().out
    assert "first difference:\n" in said
    assert "  element[5]: expected 0x" in said
    assert said.endswith("Verdict: FAIL\n")
    assert main([*RACK, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["verdict"], document["difference"]["fields"][0]["name"]) == ("fail", "element[5]")
    assert program.create_card is not wrong_card


@pytest.mark.parametrize(
    ("fault", "fields"), [("wrong-sum:40", ["element[", "iCRC"]), ("wrong-psn:40", ["BTH.psn", "iCRC"])]
)
def test_faults_that_are_planted_are_found_and_shown(fault, fields, capsys):
    """One bit of one sum, and one PSN: the fortieth sum is right, the next one is not."""
    assert main([*RACK, "--fault", fault, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["verdict"], document["difference"]["kind"]) == ("fail", "differs")
    shown = document["difference"]["fields"]
    assert [field["name"][: len(name)] for field, name in zip(shown, fields, strict=True)] == fields
    bits = int(shown[0]["bits"], 16)
    assert bits.bit_count() == 1 or "psn" in fault
    assert all("(valid)" in field["found"] for field in shown[1:])
    assert main([*RACK, "--fault", fault]) == 1
    said = capsys.readouterr().out
    assert "first difference:\nframe " in said
    assert f"\n  {fields[0]}" in said


def test_a_trace_without_sums_shows_nothing(capsys):
    assert main([*RACK, "--frames", "3"]) == 2
    assert capsys.readouterr().out.endswith(
        "the trace makes no sum: nothing is shown about a card that sums\nVerdict: UNKNOWN\n"
    )


def test_a_configuration_that_the_card_is_too_small_for(served, files, tmp_path, capsys):
    _, address = served
    big = tmp_path / "big.json"
    big.write_text(config_text(card_config(small_job(size=5))))
    assert main(["card", "program", "--card", address, files[0]]) == 0
    assert main(["card", "configure", "--card", address, "--config", str(big)]) == 64
    assert "port" in capsys.readouterr().err
