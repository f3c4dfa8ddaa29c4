"""Aggregation cards: register map, driver, and an emulated card (`docs/bring-your-own-fpga.md`)."""
