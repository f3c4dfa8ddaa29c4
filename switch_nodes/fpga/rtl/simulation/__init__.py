"""The card's Verilog as a simulation in this process."""
