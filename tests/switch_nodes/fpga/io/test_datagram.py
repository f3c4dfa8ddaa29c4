"""Real sockets: a card served in a thread of the test, driven from outside."""

import socket
import threading
import time

import pytest

from switch_nodes.fpga.card import EmulatedCard
from switch_nodes.fpga.datagrams import RegisterServer
from switch_nodes.fpga.driver import CardDriver
from switch_nodes.fpga.errors import CardError
from switch_nodes.fpga.faults import AgentDies
from switch_nodes.fpga.io.datagram import (
    DatagramTransport,
    RegisterSocket,
    connect_udp,
    connect_unix,
    listen_udp,
    listen_unix,
)
from tests.support.cards import BITS, card_config
from workloads.errors import ScenarioError


class Served:
    def __init__(self, card, listening, lose=lambda number: False):
        self.card, self.socket = card, listening
        self._over = threading.Event()
        self._port = RegisterSocket(listening, RegisterServer(card), time.monotonic_ns)
        if lose is not None:
            self._lose(lose)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _lose(self, lose):
        real, count = self._port._requests, iter(range(10**9))
        self._port._requests = lambda: (pair for pair in real() if not lose(next(count)))

    def _run(self):
        while not self._over.is_set():
            self._port.serve()
            time.sleep(0.0002)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()
        self.socket.close()


def driver(transport):
    return CardDriver(transport, card="c1", clock=time.monotonic_ns, sleep=lambda ns: time.sleep(ns / 1e9))


def bring_up(transport, card):
    driver(transport).bring_up(BITS, card_config())
    assert card.status == 7
    transport.close()


def test_a_card_over_udp():
    listening = listen_udp("127.0.0.1", 0)
    with Served(EmulatedCard(3), listening) as served:
        bring_up(connect_udp("127.0.0.1", listening.getsockname()[1]), served.card)


def test_a_card_over_a_unix_socket(tmp_path):
    path = tmp_path / "card.sock"
    with Served(EmulatedCard(3), listen_unix(path)) as served:
        assert path.stat().st_mode & 0o777 == 0o600
        bring_up(connect_unix(path), served.card)


def test_lost_datagrams_are_asked_for_again():
    """Every fortieth request."""
    listening = listen_udp("127.0.0.1", 0)
    with Served(EmulatedCard(3), listening, lambda number: number % 40 == 39) as served:
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client.connect(listening.getsockname())
        bring_up(DatagramTransport(client, timeout_s=0.02), served.card)


def test_a_dead_agent_is_noticed_in_bounded_time():
    listening = listen_udp("127.0.0.1", 0)
    with Served(EmulatedCard(3, faults=[AgentDies(0)]), listening):
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client.connect(listening.getsockname())
        transport = DatagramTransport(client, timeout_s=0.01)
        with pytest.raises(
            CardError, match=r"register MAGIC: the card does not answer \(no answer to 5 requests in 0.05 s\)"
        ):
            driver(transport).state()
        transport.close()


def test_nobody_there_is_noticed_at_once():
    gone = listen_udp("127.0.0.1", 0)
    port = gone.getsockname()[1]
    gone.close()
    transport = connect_udp("127.0.0.1", port)
    with pytest.raises(CardError, match="register MAGIC: the card does not answer"):
        driver(transport).state()
    transport.close()


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.1", "::", "example"])
def test_registers_are_served_on_loopback_only(host):
    with pytest.raises(ScenarioError, match="registers are served on loopback only"):
        listen_udp(host, 0)


def test_a_socket_that_was_left_is_replaced_and_one_in_use_is_not(tmp_path):
    path = tmp_path / "card.sock"
    listen_unix(path).close()
    second = listen_unix(path)
    with pytest.raises(OSError, match="in use"):
        listen_unix(path)
    second.close()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OSError, match="in use"):
        listen_unix(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"
