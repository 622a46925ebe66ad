"""Long runs of faults and random operations; the tests hold a small sample of each."""
