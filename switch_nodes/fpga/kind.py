"""What is known of the programs `fpga` and `rtl` before they run."""

from switch_nodes.kinds import ProgramFactory, ProgramKind

__all__ = ["KINDS"]


def _fpga() -> ProgramFactory:
    from switch_nodes.fpga.program import create_card

    return create_card


def _rtl() -> ProgramFactory:
    from switch_nodes.fpga.rtl.program import create_card

    return create_card


KINDS = (
    ProgramKind(
        "fpga",
        "netreduce on an aggregation card, which is configured through its registers (docs/bring-your-own-fpga.md)",
        _fpga,
        uses=("rings", "release", "gate"),
        is_card=True,
    ),
    ProgramKind(
        "rtl",
        "netreduce on the hardware of a card, simulated cycle by cycle (docs/rtl.md)",
        _rtl,
        uses=("rings", "release", "gate"),
        is_card=True,
    ),
)
