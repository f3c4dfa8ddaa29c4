"""Commodity switches as tables of flow rules, and the rules that lead a job's data through an accelerator."""
