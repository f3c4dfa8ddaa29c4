"""Why a run stalled: what each node waits for at its end, and which faults it takes."""
