"""`make quality`: how good the answers are, on sets whose right answers people gave.

The sets lie in a folder beside the repository, or where `TRANSOM_SHARED` says.
"""
