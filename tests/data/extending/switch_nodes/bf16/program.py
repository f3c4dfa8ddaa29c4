"""SwitchML's program, which also counts."""

from switch_nodes.switchml import SwitchMlProgram
from workloads.machine import Buffer

__all__ = ["Bf16Program"]


class Bf16Program(SwitchMlProgram):
    counter_names = (*SwitchMlProgram.counter_names, "frames_of_bf16")

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self.count("frames_of_bf16")
        super().receive_frame(port, frame, now)
