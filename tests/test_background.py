"""Background work by name."""

import asyncio

from bridge.background import Background


async def test_work_begun_anew_waits_for_the_end_of_what_ran_before() -> None:
    """Two runs of the same work never overlap, however long the first one takes to end."""
    background = Background()
    at_work: list[str] = []
    most = 0
    began, anew = asyncio.Event(), asyncio.Event()

    async def work(started: asyncio.Event) -> None:
        nonlocal most
        at_work.append("here")
        most = max(most, len(at_work))
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(5):  # clearing up takes a few turns of the loop
                await asyncio.sleep(0)
            at_work.pop()

    background.run("work", lambda: work(began))
    await began.wait()
    background.run("work", lambda: work(anew))
    await anew.wait()
    await background.close()

    assert 1 == most
    assert [] == at_work
