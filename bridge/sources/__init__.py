"""Where notes come from; each source yields the same changes."""
