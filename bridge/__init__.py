"""Transom: a self-hosted bridge that turns an Obsidian vault into a searchable memory."""

__version__ = "0.1.0"
