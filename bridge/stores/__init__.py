"""What is kept: the derived index and the durable state."""
