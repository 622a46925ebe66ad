"""Speed and memory, each figure beside its floor: `python -m tests.bench`."""
