import pytest

from switch_nodes.fpga.errors import CardError
from switch_nodes.fpga.io.addresses import listen, open_transport
from switch_nodes.fpga.io.datagram import DatagramTransport
from switch_nodes.fpga.io.mapped import MappedTransport
from workloads.errors import ScenarioError


def test_addresses_that_lead_somewhere(tmp_path):
    bar = tmp_path / "resource0"
    bar.write_bytes(bytes(0x28000))
    served = listen(f"unix:{tmp_path / 's'}")
    found = [
        open_transport(text) for text in ("udp:127.0.0.1:7", "udp:[::1]:7", f"bar:{bar}", f"unix:{tmp_path / 's'}")
    ]
    assert [type(item) for item in found] == [DatagramTransport, DatagramTransport, MappedTransport, DatagramTransport]
    for item in (*found, served):
        item.close()


@pytest.mark.parametrize(
    "text", ["", "udp:", "udp:host", "udp:host:0", "udp:host:70000", "udp::7", "unix:", "tcp:h:7", "bar:"]
)
def test_what_is_no_address(text):
    with pytest.raises(ScenarioError) as caught:
        open_transport(text)
    assert str(caught.value) == (
        f"tb card: --card: no address of a card's registers; found {text!r}; allowed: udp:HOST:PORT, unix:PATH, "
        "bar:FILE"
    )


def test_where_nothing_is(tmp_path):
    for text in (f"unix:{tmp_path / 'none'}", f"bar:{tmp_path / 'none'}"):
        with pytest.raises(CardError) as caught:
            open_transport(text)
        assert str(caught.value) == f"card {text}: nothing is there (No such file or directory)"
        assert caught.value.exit_code == 75


@pytest.mark.parametrize(
    ("text", "problem"),
    [("bar:x", "no address of a card's registers"), ("udp:127.0.0.1:99999", "no address"),
        ("unix:/nowhere/s", "cannot be listened on")],
)  # fmt: skip
def test_where_nobody_can_listen(text, problem):
    with pytest.raises(ScenarioError, match=problem):
        listen(text)
