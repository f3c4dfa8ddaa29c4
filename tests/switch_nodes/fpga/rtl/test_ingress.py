"""Frames into the hardware, in Amaranth's simulator: any beats, gaps and back-pressure give the frames back whole."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.rtl import beats_of, simulate
from workloads.wire import Bth, Envelope, Packet, encode_packet

pytest.importorskip("amaranth", reason="needs Amaranth, which ./tb test installs unless TB_NO_RTL is set")
from switch_nodes.fpga.rtl.ingress import Ingress
from switch_nodes.fpga.rtl.parameters import RtlParameters

_PACKET = Packet(
    Envelope(b"\2\0\0\0\0\1", b"\2\0\0\0\0\2", b"\x0a\0\0\1", b"\x0a\0\0\2", tos=2), Bth(4, 17, 5), bytes(range(100))
)
_PARAMETERS = {64: RtlParameters(ports=3, mtu=256), 512: RtlParameters(ports=3, mtu=256, width=512)}


def _through(p: RtlParameters, frames: list[tuple[int, bytes]], seed: int) -> list[tuple]:
    """(port, frame, intact, cut) of each, as the engine sees it."""
    design, dice, found = Ingress(p, verilog=False), random.Random(seed), []
    waiting = [(port, list(beats_of(frame, p.beat))) for port, frame in frames]

    async def bench(ctx):
        offered, rest = False, 0
        for _ in range(40 * sum(len(beats) for _, beats in waiting) + 400):
            if waiting and (offered or dice.random() < 0.6):
                port, beats = waiting[0]
                data, keep, last = beats[0]
                if not offered:
                    # What is not kept is anything.
                    shift = (1 << p.width) - 1 ^ (1 << 8 * keep.bit_length()) - 1
                    ctx.set(design.data, (data | dice.getrandbits(p.width) & shift) << port * p.width)
                ctx.set(design.keep, keep << port * p.beat)
                ctx.set(design.last, last << port)
                ctx.set(design.valid, 1 << port)
                offered = True
            else:
                ctx.set(design.valid, 0)
            taken = offered and ctx.get(design.ready) >> waiting[0][0] & 1
            rest = max(rest - 1, 0)
            release = ctx.get(design.full) and not rest and dice.random() < 0.2
            if release:
                length = ctx.get(design.length)
                words = []
                for word in range(-(-length // p.beat)):
                    ctx.set(design.r_addr, word)
                    ctx.set(design.valid, 0)
                    await ctx.tick()
                    words.append(ctx.get(design.r_data).to_bytes(p.beat, "little"))
                data = b"".join(words)[:length]
                assert ctx.get(design.header).to_bytes(128, "little")[: min(length, 128)] == data[:128]
                found.append((ctx.get(design.port), data, ctx.get(design.intact), ctx.get(design.cut)))
                if offered:
                    ctx.set(design.valid, 1 << waiting[0][0])
                taken = offered and ctx.get(design.ready) >> waiting[0][0] & 1
            ctx.set(design.release, bool(release))
            await ctx.tick()
            ctx.set(design.release, 0)
            if taken:
                offered = False
                waiting[0][1].pop(0)
                if not waiting[0][1]:
                    waiting.pop(0)
            if len(found) == len(frames):
                return

    simulate(design, bench)
    return found


@pytest.mark.parametrize("width", [64, 512])
def test_frames_come_whole_and_in_order(width):
    @settings(max_examples=6 if width == 64 else 2, deadline=None)
    @given(
        st.lists(st.tuples(st.integers(0, 2), st.binary(min_size=15, max_size=200)), min_size=1, max_size=5),
        st.integers(0, 1 << 30),
    )
    def check(frames, seed):
        found = _through(_PARAMETERS[width], frames, seed)
        assert [(port, frame) for port, frame, _, _ in found] == frames

    check()


@pytest.mark.parametrize("width", [64, 512])
def test_the_icrc_is_checked_while_beats_pass(width):
    good = encode_packet(_PACKET)
    wrong = bytearray(good)
    wrong[70] ^= 4
    cut = good[:-4] + bytes(byte ^ 0xFF for byte in good[-4:])
    frames = [(0, good), (1, bytes(wrong)), (2, cut), (0, good + b"\0" * 7), (1, good)]
    found = _through(_PARAMETERS[width], frames, 3)
    assert [bool(intact) for _, _, intact, _ in found] == [True, False, False, True, True]
    assert [bool(cut) for _, _, _, cut in found] == [False, False, True, False, False]
