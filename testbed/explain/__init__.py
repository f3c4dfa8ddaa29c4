"""Why a run stalled: who waits for whom at its end, and which faults it takes."""
