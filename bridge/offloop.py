"""The rule that blocking work stays off the event loop, asserted where it is done."""

import asyncio


def assert_off_loop() -> None:
    """Fail when called on a thread that runs an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise AssertionError("blocking work was started on the event loop's thread")
