"""The map of the code is the code's."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
UNNAMED = {"__init__.py", "__main__.py"}


def test_the_map_names_every_module_and_no_other() -> None:
    """Whoever looks for a line finds its room in docs/architecture.md; commands and verbs are named by their folder."""
    bridge = ROOT / "bridge"
    folders = (bridge / "cli", bridge / "api" / "rest", bridge / "embed" / "convert")
    modules = {file.relative_to(bridge) for file in bridge.rglob("*.py") if file.name not in UNNAMED}
    named = set(re.findall(r"`(?:\w+/)*(\w+\.py)`", (ROOT / "docs" / "architecture.md").read_text("utf-8")))

    assert {module.name for module in modules if not {bridge / module.parent} & {*folders}} <= named
    assert named <= {module.name for module in modules} | UNNAMED
