"""netem: the command lines, what it refuses, what is read back; a fake runner stands for the kernel."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from testbed.faults.model import (
    Burst,
    Corrupt,
    Delay,
    Drop,
    Duplicate,
    EcnMark,
    LinkDown,
    Loss,
    Match,
    PacketFault,
    Reorder,
    Window,
)
from testbed.faults.netem import Netem, netem_arguments, probe_netem, run_command, why_not
from workloads.errors import HostCapabilityError, InternalError

LINK = ("h1-h2",)


class FakeKernel:
    """Answers tc as a kernel with netem does, or as `answer` says; remembers the commands."""

    def __init__(self, *, status: int = 0, answer: str = "", shown: str | None = None) -> None:
        self.status, self.answer, self.shown = status, answer, shown
        self.commands: list[str] = []
        self._set = ""

    def __call__(self, command: Sequence[str]) -> tuple[int, str]:
        self.commands.append(" ".join(command))
        if "add" in command:
            self._set = " ".join(command[command.index("netem") + 1 :])
            return self.status, self.answer
        if "show" in command:
            shown = self.shown if self.shown is not None else f"qdisc netem 8001: root refcnt 2 limit 1000 {self._set}"
            return 0, shown
        return 0, ""


@pytest.mark.parametrize(
    ("faults", "arguments"),
    [
        ([Loss("l", LINK, rate=0.01)], "loss 1%"),
        ([Loss("l", LINK, rate=0.0000015)], "loss 0.00015%"),
        ([Burst("b", LINK, rate=0.002, recover=0.2, loss_bad=1.0, loss_good=0.0)], "loss gemodel 0.2% 20% 100% 0%"),
        ([Corrupt("c", LINK, rate=0.5), Duplicate("d", LINK, rate=0.25)], "corrupt 50% duplicate 25%"),
        ([Delay("d", LINK, delay_ns=1_500_000, jitter_ns=250)], "delay 1500us 0.25us"),
        ([Delay("d", LINK, delay_ns=1000), Delay("e", LINK, delay_ns=2000), Loss("l", LINK)], "delay 3us loss 100%"),
        ([Reorder("r", LINK, rate=0.02, delay_ns=3_000_000)], "delay 3000us reorder 98%"),
    ],
)
def test_arguments(faults: list[PacketFault], arguments: str) -> None:
    assert " ".join(netem_arguments(faults)) == arguments


def test_the_links_own_delay() -> None:
    assert netem_arguments([], delay_ns=2_000, jitter_ns=500) == ["delay", "2us", "0.5us"]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Drop("f", LINK), "netem has no Drop"),
        (EcnMark("f", LINK), "netem has no EcnMark"),
        (LinkDown("f", LINK), "netem has no LinkDown"),
        (Loss("f", LINK, match=Match(attempt=1)), "netem does not know packets by identity"),
        (Loss("f", LINK, window=Window(1)), "netem has no windows"),
        (Loss("f", LINK, window=Window(0, 9)), "netem has no windows"),
        (Corrupt("f", LINK, repair_icrc=True), "netem flips any bit and repairs nothing"),
        (Corrupt("f", LINK, bit=3), "netem flips any bit and repairs nothing"),
        (Duplicate("f", LINK, delay_ns=3), "netem does not delay copies"),
        (Delay("f", LINK, rate=0.5), "netem delays every packet"),
        (Loss("f", LINK), None),
    ],
)
def test_why_not(fault: PacketFault, reason: str | None) -> None:
    assert why_not(fault) == reason
    if reason:
        with pytest.raises(InternalError, match=f"^fault f: {reason}$"):
            netem_arguments([fault])


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        ([Loss("a", LINK), Burst("b", LINK)], "fault b: one netem qdisc takes one `loss`"),
        ([Reorder("a", LINK), Delay("b", LINK, delay_ns=1)], "fault a: netem cannot both delay and reorder"),
    ],
)
def test_faults_that_one_qdisc_cannot_hold(faults: list[PacketFault], message: str) -> None:
    with pytest.raises(InternalError) as refused:
        netem_arguments(faults)
    assert str(refused.value) == message


def test_set_read_back_and_taken_away() -> None:
    kernel = FakeKernel()
    Netem("h1-eth0", ["loss", "1%"], kernel).detach()
    assert kernel.commands == [
        "tc qdisc add dev h1-eth0 root netem loss 1%",
        "tc qdisc show dev h1-eth0",
        "tc qdisc del dev h1-eth0 root",
    ]


@pytest.mark.parametrize("said", ["Error: Specified qdisc kind is unknown.", "Error: Specified qdisc not found."])
def test_a_kernel_without_netem(said: str) -> None:
    with pytest.raises(HostCapabilityError) as refused:
        probe_netem("lo", FakeKernel(status=2, answer=said))
    assert str(refused.value) == (
        "this machine lacks the netem qdisc; load the module sch_netem (Debian: apt-get install linux-image-amd64, "
        "then "
        "modprobe sch_netem), or end the link at a switch node of the testbed. The ports of such a node delay, "
        "reorder and lose packets themselves"
    )


@pytest.mark.parametrize(
    ("status", "said", "kind", "message"),
    [
        (127, "no tc", HostCapabilityError, "this machine lacks the tc command; apt-get install iproute2"),
        (2, "RTNETLINK answers: Operation not permitted", HostCapabilityError,
            "this machine lacks the right to change qdiscs; run as root"),
        (1, 'Illegal "latency"', InternalError, '`tc qdisc add dev x root netem loss 1%`: Illegal "latency"'),
        (1, "", InternalError, "`tc qdisc add dev x root netem loss 1%`: exit status 1"),
    ],
)  # fmt: skip
def test_other_refusals(status: int, said: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as refused:
        Netem("x", ["loss", "1%"], FakeKernel(status=status, answer=said))
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("shown", "message"),
    [
        (
            "qdisc netem 8001: root refcnt 2 limit 1000 delay 1ms",
            (
                "x: asked for `netem loss 1%`, the kernel shows without loss: qdisc netem 8001: root refcnt 2 limit "
                "1000 "
                "delay 1ms"
            ),
        ),
        (
            "qdisc noqueue 0: root refcnt 2",
            "x: asked for `netem loss 1%`, the kernel shows: qdisc noqueue 0: root refcnt 2",
        ),
    ],
)
def test_a_kernel_that_took_less_than_was_asked(shown: str, message: str) -> None:
    kernel = FakeKernel(shown=shown)
    with pytest.raises(InternalError) as refused:
        Netem("x", ["loss", "1%"], kernel)
    assert str(refused.value) == message
    assert kernel.commands[-1] == "tc qdisc del dev x root"


def test_the_real_runner() -> None:
    assert run_command(["sh", "-c", "echo out; echo err >&2; exit 3"]) == (3, "out\nerr\n")
    assert run_command(["there-is-no-such-program"])[0] == 127
