"""What is known of program `fpga` before it runs."""

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
)
