"""Stock RoCE endpoints in a virtual machine, with their wires on our switch node."""
