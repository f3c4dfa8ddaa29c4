"""What is known of the programs `fpga` and `rtl` before they run."""

from switch_nodes.kinds import ProgramKind

__all__ = ["KINDS"]

KINDS = (
    ProgramKind(
        "fpga",
        "netreduce on an aggregation card, which is configured through its registers (docs/bring-your-own-fpga.md)",
        "switch_nodes.fpga.program:create_card",
        uses=("rings", "release", "gate"),
        is_card=True,
    ),
    ProgramKind(
        "rtl",
        "netreduce on the hardware of a card, simulated cycle by cycle (docs/rtl.md)",
        "switch_nodes.fpga.rtl.program:create_card",
        uses=("rings", "release", "gate"),
        is_card=True,
    ),
)
