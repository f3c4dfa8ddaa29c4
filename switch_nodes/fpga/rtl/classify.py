"""From headers to the kind of a frame: which edges of installed rings it runs on (`switch_nodes/netreduce/frames.py`),
and which connection it belongs to."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Mux, Signal

from switch_nodes.fpga.rtl.core import Core
from switch_nodes.fpga.rtl.decisions import code, decide_frame
from switch_nodes.netreduce.tables import DROP_REASONS, FrameAction, FrameKind
from workloads.wire.trimming import TRIMMED_DSCP

__all__ = ["classify_states"]


def classify_states(m: Module, e: Core) -> None:
    """HEADERS, to BYPASS, PLACE or RELEASE. Where it goes to PLACE: `found` edges are in the signals of `Engine`."""
    p, h, ingress, applier = e.p, e.headers, e.ingress, e.applier
    position = Signal(range(p.rings + 1))  # of the ring, as configured
    any_edge, any_here = Signal(), Signal()
    matched, port_before = Signal(), Signal(6)
    hit, hit_rank = Signal(), Signal(range(p.members))
    any_context, any_rank = Signal.like(e.context), Signal.like(e.rank)
    known_context, known_rank, first_context, first_rank = e.known_context, e.known_rank, e.first_context, e.first_rank
    member = applier.member_ram.r_data
    member_ip, member_port = member[0:128], member[128:134]

    is_cut = (h.dscp == TRIMMED_DSCP) & ingress.cut

    with m.State("HEADERS"):
        m.d.sync += [
            position.eq(0), any_edge.eq(0), any_here.eq(0), e.is_known.eq(0), e.is_named.eq(0), e.kind.eq(0),
        ]  # fmt: skip
        m.next = "RING"
        with m.If(ingress.length < 14):
            e.pulse(m, "bypassed")
            e.pulse(m, "runt")
            m.next = "RELEASE"
        with m.Elif(~h.is_roce):
            m.d.sync += e.kind.eq(code(FrameKind.OTHER))
            m.next = "KIND"
        with m.Elif(~h.is_data):
            m.d.sync += e.kind.eq(code(FrameKind.NOT_DATA))
            m.next = "KIND"
    with m.State("RING"):
        m.d.sync += [e.step.eq(0), hit.eq(0), e.context.eq(Array(applier.order)[position]), matched.eq(0)]
        m.next = "MEMBERS"
        with m.If(position == applier.ring_count):
            m.d.sync += [
                e.context.eq(Mux(any_here, first_context, any_context)), e.rank.eq(Mux(any_here, first_rank, any_rank)),
                e.is_placed.eq(0),
            ]  # fmt: skip
            m.d.sync += e.kind.eq(
                Mux(
                    ~any_edge, code(FrameKind.FOREIGN),
                    Mux(
                        ~any_here, code(FrameKind.WRONG_PORT),
                        Mux(
                            ~ingress.intact,
                            Mux(is_cut, code(FrameKind.TRIMMED), code(FrameKind.BAD_ICRC)),
                            Mux(h.malformed, code(FrameKind.MALFORMED), code(FrameKind.DATA)),
                        ),
                    ),
                )
            )  # fmt: skip
            m.next = "KIND"
    # Member after member, and member 0 once more: is it (IP of k, IP of k+1)?
    with m.State("MEMBERS"):
        at = Mux(e.step >= e.ring_members, 0, e.step)
        m.d.comb += applier.members_addr.eq(e.at_connection(e.context, at[0 : len(e.rank)]))
        m.d.sync += [
            e.step.eq(e.step + 1), matched.eq((member_ip == h.src_ip) & (e.step != 0)), port_before.eq(member_port),
        ]  # fmt: skip
        here = matched & (member_ip == h.dst_ip) & (e.step >= 2) & (e.ring_family == Mux(h.is_ipv6, 6, 4))
        with m.If(here):
            m.d.sync += [any_edge.eq(1), hit_rank.eq(e.step - 2)]
            with m.If(~any_edge):
                m.d.sync += [any_context.eq(e.context), any_rank.eq(e.step - 2)]
            with m.If((port_before == ingress.port) | e.plants["port-ignored"]):
                m.d.sync += [hit.eq(1), any_here.eq(1)]
        with m.If(e.step == e.ring_members + 1):
            m.next = "EDGE_READ"
    with m.State("EDGE_READ"):
        m.d.comb += e.connection_ram.r_addr.eq(e.at_connection(e.context, hit_rank))
        m.d.sync += position.eq(position + 1)
        m.next = "RING"
        with m.If(hit):
            m.next = "EDGE"
    seen = Signal()
    with m.State("EDGE"):
        connection = Signal(e.connection_shape)
        m.d.comb += connection.eq(e.connection_ram.r_data)
        m.d.sync += seen.eq(1)
        m.next = "RING"
        with m.If(~seen):
            m.d.sync += [first_context.eq(e.context), first_rank.eq(hit_rank)]
        with m.If(~e.is_known & connection.known & (connection.qpn == h.qpn)):
            m.d.sync += [e.is_known.eq(1), known_context.eq(e.context), known_rank.eq(hit_rank)]
        with m.If((h.ring_id == e.ring_id) & (h.rank == hit_rank) & (h.group == e.ring_members)):
            m.d.sync += [e.is_named.eq(1), e.named_context.eq(e.context), e.named_rank.eq(hit_rank)]
    with m.State("KIND"):
        m.d.sync += [seen.eq(0), e.step.eq(0)]
        action = decide_frame(m, e.kind)
        with m.If(e.kind == code(FrameKind.TRIMMED)):
            e.pulse(m, "trimmed")
        with m.Elif(any_edge):
            e.pulse(m, "data_in")
        with m.Switch(action):
            with m.Case(code(FrameAction.BYPASS)):
                m.next = "BYPASS"
            with m.Case(code(FrameAction.CONNECTION)):
                m.next = "PLACE"
            for done, reason in DROP_REASONS.items():
                if isinstance(done, FrameAction):
                    with m.Case(code(done)):
                        e.ignore(m, reason)
                        m.next = "RELEASE"
