"""The bridge: its parts wired by name, and the verbs that REST, the page and the commands share."""
