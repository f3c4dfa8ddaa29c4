"""The reader of Chakra traces."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.traces import COLLECTIVES, et, node
from workloads.errors import ScenarioError
from workloads.traces import chakra_pb2
from workloads.traces.chakra import ChakraOptions, read_chakra
from workloads.traces.matching import match
from workloads.traces.model import COMPUTE, JobTrace, TraceNode


def read(*nodes: chakra_pb2.Node, ranks: int = 2, **options: Any) -> JobTrace:
    return read_chakra([("a.0.et", et(nodes))] * ranks, ChakraOptions(**options), "a")


def first(*nodes: chakra_pb2.Node, **options: Any) -> TraceNode:
    return read(*nodes, **options).ranks[0][-1]


def test_computing_takes_its_duration_else_its_operations_over_the_rate() -> None:
    assert first(node(0, "compute", us=7)).compute_ns == 7000
    assert first(node(0, "compute", us=7, num_ops=10**9), ops_per_second=10**9).compute_ns == 7000
    assert first(node(0, "compute", num_ops=3), ops_per_second=10**6).compute_ns == 3000
    assert first(node(0, "compute")).compute_ns == 0


def test_dependencies_on_nodes_that_are_not_there_are_over() -> None:
    found = read(node(5, "compute"), node(9, "compute", (5, 4), control=(7,))).ranks[0]
    assert found[1].after == (0,)


def test_sizes_of_collectives() -> None:
    sizes = {
        kind: first(node(0, kind, comm_size=100), root=0).bytes
        for kind in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "barrier")
    }
    assert sizes == {
        "all_reduce": 100, "all_gather": 200, "reduce_scatter": 100, "all_to_all": 100, "broadcast": 100,
        "reduce": 100, "barrier": 0,
    }  # fmt: skip


def test_the_cpu_side_of_a_call_takes_no_time() -> None:
    found = first(node(0, "collective", us=100, is_cpu_op=True))
    assert (found.kind, found.compute_ns) == (COMPUTE, 0)


def test_a_missing_end_of_a_message_is_the_own_rank() -> None:
    sends = node(0, "send", comm_size=8, comm_dst=1, comm_type=5)
    takes = node(0, "recv", comm_size=8, comm_src=0, comm_tag=0)
    trace = read_chakra([("a", et([sends])), ("b", et([takes]))], ChakraOptions(), "a")
    assert [(nodes[0].kind, nodes[0].peer) for nodes in trace.ranks] == [("send", 1), ("recv", 0)]


@pytest.mark.parametrize("name", ["", "0"])
def test_names_of_the_group_of_all_ranks(name: str) -> None:
    assert first(node(0, "all_reduce", comm_size=8, pg_name=name)).group == ()


def test_groups_come_from_a_file_or_from_metadata() -> None:
    call = node(1, "all_reduce", comm_size=8, pg_name="7")
    assert read(call, ranks=3, groups=(("7", (0, 1, 2)),)).ranks[0][0].group == ()
    listed = node(0, "metadata", inputs='[{"pg_name": "7", "ranks": [1, 0]}]')
    assert read(listed, call).ranks[0][1].group == (1, 0)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (node(3, "load", name="x"), "rank 0, node 3 (x): no run has such nodes; found MEM_LOAD_NODE; allowed: M"),
        (chakra_pb2.Node(id=3, type=99), "rank 0, node 3: no run has such nodes; found type 99;"),
        (node(0, "collective", comm_type=3, comm_size=8), "rank 0, node 0: no run has this collective; found GATHER;"),
        (node(0, "collective", comm_type=77), "rank 0, node 0: no run has this collective; found comm_type 77;"),
        (node(0, "collective"), "rank 0, node 0: attribute comm_type; found nothing;"),
        (node(0, "all_reduce"), "rank 0, node 0: attribute comm_size; found nothing;"),
        (node(0, "all_reduce", comm_size=-1), "rank 0, node 0: attribute comm_size; found -1;"),
        (node(0, "all_reduce", comm_size="x"), "rank 0, node 0: attribute comm_size; found 'x';"),
        (node(0, "broadcast", comm_size=8), "rank 0, node 0: the node of a broadcast names no root;"),
        (node(0, "compute", num_ops=5), "rank 0, node 0: operations take no time without a rate; found num_ops 5;"),
        (node(0, "send", comm_size=8, comm_dst=0), "rank 0, node 0: not a message between this rank and another;"),
        (node(0, "send", comm_size=8, comm_src=1, comm_dst=0), "rank 0, node 0: not a message between this rank"),
        (node(0, "send", comm_size=8, comm_dst=2), "rank 0, node 0: attribute comm_dst; found 2;"),
        (node(0, "all_reduce", comm_size=8, pg_name="5"), "rank 0, node 0: nothing says which ranks the group has;"),
        (node(0, "all_reduce", comm_size=8, involved_dim=(True, False)), "rank 0, node 0: a collective over some dim"),
    ],
)  # fmt: skip
def test_what_is_refused(made: chakra_pb2.Node, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        read(made)
    assert str(error.value).partition(": ")[2].startswith(message)


def test_two_nodes_of_one_id() -> None:
    with pytest.raises(ScenarioError, match="two nodes have id 4"):
        read(node(4, "compute"), node(4, "compute"))


def test_a_group_that_does_not_fit() -> None:
    with pytest.raises(ScenarioError, match="group '7' does not fit"):
        read(node(0, "all_reduce", comm_size=8, pg_name="7"), groups=(("7", (0, 5)),))


def test_all_dimensions_are_all_ranks() -> None:
    assert first(node(0, "all_reduce", comm_size=8, involved_dim=(True, True))).group == ()


def test_one_file_needs_the_size_of_the_job() -> None:
    with pytest.raises(ScenarioError, match=r"how large the job is.*trace_ranks"):
        read(node(0, "compute"), ranks=1)
    one = et([node(0, "all_reduce", comm_size=8)])
    assert len(read_chakra([("a", one)], ChakraOptions(ranks=5), "a").ranks) == 5


def test_one_file_that_stands_for_all_has_no_messages() -> None:
    with pytest.raises(ScenarioError, match="one rank's messages do not say"):
        read_chakra([("a", et([node(0, "send", comm_size=8, comm_dst=1)]))], ChakraOptions(ranks=2), "a")


LISTED = '[{"pg_name": "7", "ranks": [0, 1]}]'
WHOLE, OTHER = (
    et(
        [
            node(0, "compute", us=3, name="first"),
            node(1, "all_reduce", (0,), comm_size=4096, pg_name="7", involved_dim=(True,)),
            node(2, kind, (1,), comm_size=8, comm_tag=2, **{peer: 1 - rank}),
            node(3, "metadata", control=(2,), inputs=LISTED),
        ]
    )
    for rank, (kind, peer) in enumerate((("send", "comm_dst"), ("recv", "comm_src")))
)


def read_or_refused(content: bytes) -> str:
    """The refusal; any other exception fails the test."""
    try:
        match(read_chakra([("a", content), ("b", OTHER)], ChakraOptions(root=0), "t"))
    except ScenarioError as error:
        return str(error)
    return ""


def test_a_whole_file_is_read() -> None:
    assert read_or_refused(WHOLE) == ""


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_a_file_that_was_cut(length: int) -> None:
    """Between two nodes the file can end."""
    assert re.match("([abt]: .|$)", read_or_refused(WHOLE[:length]))


def mutated(dice: Random) -> bytes:
    """A trace with some bytes changed, left out or doubled."""
    whole = bytearray(WHOLE)
    for _ in range(dice.randint(1, 3)):
        at, kind = dice.randrange(len(whole)), dice.randrange(4)
        if kind <= 1:
            whole[at] = dice.randrange(256)
        elif kind == 2:
            del whole[at : at + dice.randint(1, 8)]
        else:
            whole[at:at] = whole[at : at + dice.randint(1, 8)]
    return bytes(whole)


def try_mutated(number: int, seed: int) -> None:
    dice = Random(seed)
    said = [read_or_refused(mutated(dice)) for _ in range(number)]
    assert not [each for each in said if not re.match("([abt]: .|$)", each)]
    assert len({each[:30] for each in said}) > 20  # they come to different places of the reader
    assert "" in said


def test_a_mutated_trace_is_read_or_refused() -> None:
    try_mutated(2_000, 1)


@pytest.mark.minutes
def test_many_mutated_traces_are_read_or_refused() -> None:
    try_mutated(100_000, 2)


NUMBERS = st.one_of(st.integers(0, 9), st.integers(-(1 << 63), (1 << 63) - 1))
NODES = st.builds(
    lambda number, kind, after, control, us, inputs, attributes: node(
        number, kind, after, us=us, control=control, inputs=inputs, **attributes
    ),
    st.integers(0, 4), st.sampled_from(("compute", "send", "recv", "metadata", "collective", "load", *COLLECTIVES)),
    st.lists(st.integers(0, 5), max_size=2), st.lists(st.integers(0, 5), max_size=2),
    st.one_of(st.integers(0, 9), st.just((1 << 64) - 1)),
    st.sampled_from(("", LISTED, '[{"pg_name": 1}]', '"pg_name"')),
    st.dictionaries(
        st.sampled_from(
            ("comm_size", "comm_type", "comm_src", "comm_dst", "comm_tag", "pg_name", "root", "involved_dim",
             "is_cpu_op", "num_ops")
        ),
        st.one_of(NUMBERS, st.booleans(), st.sampled_from(("", "0", "7", "x", (), (True,), (False,)))),
        max_size=6,
    ),
)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(nodes=st.lists(NODES, min_size=1, max_size=5))
def test_any_nodes_are_read_or_refused(nodes: list[chakra_pb2.Node]) -> None:
    assert re.match("([abt]: .|$)", read_or_refused(et(nodes)))


@pytest.mark.parametrize("ranks", [4, 8])
@pytest.mark.parametrize("kind", ["all_reduce", "reduce_scatter", "all_gather", "all_to_all"])
def test_collectives_of_others(oracles: Path, kind: str, ranks: int) -> None:
    folder = oracles / "workloads/chakra" / f"{kind}-{ranks}"
    files = [(path.name, path.read_bytes()) for path in sorted(folder.glob("*.et"))]
    (only,) = match(read_chakra(files, ChakraOptions(), "a"))
    assert (only.kind, len(only.ranks)) == (kind, ranks)
    assert only.bytes == (1 << 20) * (ranks if kind == "all_gather" else 1)


def test_the_step_of_a_training(oracles: Path) -> None:
    with tarfile.open(oracles / "workloads/chakra/feeder.tar.gz") as archive:
        member = archive.extractfile(archive.getmembers()[0])
        assert member is not None
        content = member.read()
    with pytest.raises(ScenarioError, match=r"rank 0, node 435 .*the node of a broadcast names no root"):
        read_chakra([("f", content)], ChakraOptions(ranks=4), "f")
    found = match(read_chakra([("f", content)], ChakraOptions(ranks=4, root=1), "f"))
    assert [each.kind for each in found] == ["broadcast"] * 2 + ["all_reduce"] * 5
    assert found[0].root == 1


def test_the_generated_code_is_that_of_the_schema() -> None:
    """Names, numbers and types of all fields."""
    text = Path(chakra_pb2.__file__).with_name("chakra.proto").read_text()
    messages = dict(re.findall(r"message (\w+) \{(.*?)\n\}", text, re.DOTALL))
    assert set(messages) == set(chakra_pb2.DESCRIPTOR.message_types_by_name)
    for name, body in messages.items():
        fields = re.findall(r"(repeated )?(\w+) (\w+) = (\d+);", body)
        made = chakra_pb2.DESCRIPTOR.message_types_by_name[name].fields
        assert {(each, int(number)) for _, _, each, number in fields} == {(each.name, each.number) for each in made}
