"""The owner's files: one place reads them, one place writes them."""
