"""Two or more finished runs side by side: keys that differ, figures with ratios, checks, faults."""
