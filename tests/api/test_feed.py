"""The change feed: nothing seen twice, nothing lost in silence."""

import asyncio

from bridge.answers import FeedEntry
from bridge.feed import KEPT, Feed


def everything(_entry: FeedEntry) -> bool:
    return True


def only_open(entry: FeedEntry) -> bool:
    return not str(entry.data.get("path", "")).startswith("Private/")


async def test_entries_after_a_number_come_once_and_in_order() -> None:
    """Who asks from where they left off gets each entry once."""
    feed = Feed()
    start = feed.seq
    feed.publish("indexed", path="a.md")
    feed.publish("removed", path="b.md")

    first = await feed.wait(start, 0, everything)
    feed.publish("indexed", path="c.md")
    second = await feed.wait(first.seq, 0, everything)

    assert ["a.md", "b.md"] == [entry.data["path"] for entry in first.entries]
    assert ["c.md"] == [entry.data["path"] for entry in second.entries]
    assert not first.missed
    assert () == (await feed.wait(second.seq, 0, everything)).entries


async def test_waiting_ends_with_the_first_entry() -> None:
    """A long poll returns as soon as something happens, long before its time is up."""
    feed = Feed()
    waiting = asyncio.create_task(feed.wait(feed.seq, 30, everything))
    await asyncio.sleep(0)
    feed.publish("progress", embedded=1)

    news = await asyncio.wait_for(waiting, 1)

    assert [FeedEntry(feed.seq, "progress", {"embedded": 1})] == [*news.entries]


async def test_hidden_entries_do_not_end_the_wait() -> None:
    """A change that a key may not see does not even wake its owner."""
    feed = Feed()
    waiting = asyncio.create_task(feed.wait(feed.seq, 0.15, only_open))
    await asyncio.sleep(0)
    feed.publish("indexed", path="Private/a.md")
    await asyncio.sleep(0.05)

    assert not waiting.done()
    news = await waiting
    assert () == news.entries
    assert feed.seq == news.seq


async def test_a_number_of_another_start_gives_all_and_says_so() -> None:
    """After a restart, or too long a pause, one gets what is known and is told of the gap."""
    feed = Feed()
    feed.publish("indexed", path="a.md")

    for stranger in (0, feed.seq + 1000):
        news = await feed.wait(stranger, 30, everything)
        assert news.missed
        assert ["a.md"] == [entry.data["path"] for entry in news.entries]

    for _ in range(KEPT + 1):
        feed.publish("indexed", path="b.md")
    news = await feed.wait(feed.seq - KEPT - 1, 0, everything)
    assert news.missed
    assert KEPT == len(news.entries)
    assert not (await feed.wait(feed.seq - KEPT, 0, everything)).missed


async def test_numbers_grow_over_restarts() -> None:
    """A later feed never gives a number again that an earlier one gave."""
    earlier = Feed()
    earlier.publish("progress")
    await asyncio.sleep(0.001)

    assert earlier.seq < Feed().seq


async def test_closing_sends_waiters_home() -> None:
    """A stop does not wait for long polls."""
    feed = Feed()
    waiting = asyncio.create_task(feed.wait(feed.seq, 30, everything))
    await asyncio.sleep(0)
    feed.close()

    assert () == (await asyncio.wait_for(waiting, 1)).entries
    assert () == (await asyncio.wait_for(feed.wait(feed.seq, 30, everything), 1)).entries
