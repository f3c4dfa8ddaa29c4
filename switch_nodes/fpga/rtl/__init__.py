"""An aggregation card as hardware: an Amaranth design that becomes plain Verilog (`docs/rtl.md`)."""
