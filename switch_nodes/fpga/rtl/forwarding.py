"""A frame that is not summed, as a plain switch forwards it (`switch_nodes/forwarding/macs.py`): static entries, learnt
ones, flooding. A copy leaves by each of its ways, one after the other."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from switch_nodes.fpga.rtl.core import Core

__all__ = ["forward_states", "lowest"]

_LINK_LOCAL = int.from_bytes(bytes.fromhex("0180c20000"), "little")


def lowest(bits: Value) -> Value:
    """Number of the lowest one; 0 for none."""
    number: Value = Const(0)
    for at in reversed(range(len(bits))):
        number = Mux(bits[at], at, number)
    return number


def forward_states(m: Module, e: Core) -> None:
    """BYPASS counts and forwards; FORWARD forwards. Then RELEASE."""
    p, h, ingress, applier, emitter = e.p, e.headers, e.ingress, e.applier, e.emitter
    source, destination, port = h.src_mac, h.dst_mac, ingress.port
    static_source, known, out = Signal(), Signal(), Signal(6)
    learnt, learnt_at, learnt_port = Signal(), Signal(range(max(p.learnt, 2))), Signal(6)
    is_static = Signal()
    ways = Signal(p.ports)

    with m.State("BYPASS"):
        e.pulse(m, "bypassed")
        m.next = "FORWARD"
    with m.State("FORWARD"):
        m.d.sync += [
            e.step.eq(0), static_source.eq(0), known.eq(0), learnt.eq(0), is_static.eq(0), out.eq(0),
        ]  # fmt: skip
        m.next = "STATIC"
    with m.State("STATIC"):
        found = applier.mac_ram.r_data
        m.d.comb += applier.macs_addr.eq(e.step)
        m.d.sync += e.step.eq(e.step + 1)
        with m.If(e.step != 0):
            with m.If(found[0:48] == source):
                m.d.sync += static_source.eq(1)
            with m.If(found[0:48] == destination):
                m.d.sync += [known.eq(1), is_static.eq(1), out.eq(found[48:54])]
        with m.If(e.step == applier.mac_count):
            m.d.sync += e.step.eq(0)
            m.next = "LEARNT"
    with m.State("LEARNT"):
        found = e.learnt_ram.r_data
        m.d.comb += e.learnt_ram.r_addr.eq(e.step)
        m.d.sync += e.step.eq(e.step + 1)
        with m.If(e.step != 0):
            with m.If(found[0:48] == source):
                m.d.sync += [learnt.eq(1), learnt_at.eq(e.step - 1), learnt_port.eq(found[48:54])]
            with m.If((found[0:48] == destination) & ~is_static):
                m.d.sync += [known.eq(1), out.eq(found[48:54])]
        with m.If(e.step == e.learnt_count):
            m.next = "LEARN"
    in_tree = applier.flood.bit_select(port, 1)
    with m.State("LEARN"):
        room = learnt | (e.learnt_count != p.learnt)
        with m.If(~static_source & ~source[0] & in_tree & room & ~(learnt & (learnt_port == port))):
            m.d.comb += [
                e.learnt_ram.w_en.eq(1), e.learnt_ram.w_addr.eq(Mux(learnt, learnt_at, e.learnt_count)),
                e.learnt_ram.w_data.eq(Cat(source, port)),
            ]  # fmt: skip
            with m.If(~learnt):
                m.d.sync += e.learnt_count.eq(e.learnt_count + 1)
            with m.If((source == destination) & ~is_static):
                m.d.sync += [known.eq(1), out.eq(port)]
        m.next = "WAYS"
    with m.State("WAYS"):
        m.next = "RELEASE"
        local = (destination[0:40] == _LINK_LOCAL) & (destination[44:48] == 0)
        back = known & (out == port) & ~applier.hairpin & ~e.plants["goes-back"]
        with m.If(back | local | (~known & ~in_tree)):
            e.pulse(m, "filtered")
        with m.Else():
            m.next = "WAY"
            with m.If(known):
                e.pulse(m, "forwarded")
                m.d.sync += ways.eq(1 << out)
            with m.Else():
                e.pulse(m, "flooded")
                m.d.sync += ways.eq(applier.flood & ~(1 << port))
    way = Signal(range(max(p.ports, 2)))
    m.d.comb += way.eq(lowest(ways))
    with m.State("WAY"):
        m.next = "RELEASE"
        with m.If(ways.any()):
            m.d.comb += emitter.start.eq(1)
            m.d.sync += [emitter.port.eq(way), emitter.raw.eq(1), emitter.length.eq(ingress.length)]
            m.d.sync += ways.eq(ways & (ways - 1))
            m.next = "WAY_OUT"
    with m.State("WAY_OUT"):
        m.d.comb += [ingress.r_addr.eq(emitter.word_frame), ingress.r_en.eq(emitter.advance)]
        with m.If(emitter.done):
            e.pulse(m, "frames_out")
            m.next = "WAY"
