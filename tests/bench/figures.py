"""How a benchmark says what it found: one line a figure, with floor, ratio and target."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value beside its floor, both in `unit`; `target` bounds value or ratio."""

    name: str
    value: float
    unit: str
    target: str
    holds: bool
    floor: float | None = None
    floor_name: str = ""

    def __str__(self) -> str:
        beside = (
            ""
            if self.floor is None
            else f"  floor {self.floor:,.2f} ({self.floor_name}), ratio {self.value / self.floor:.2f}"
        )
        return f"{'ok  ' if self.holds else 'MISS'} {self.name}: {self.value:,.2f} {self.unit}{beside}  [{self.target}]"


class Report:
    """Collects figures and prints each as it comes."""

    def __init__(self) -> None:
        self.figures: list[Figure] = []

    def most(self, name: str, value: float, unit: str, limit: float) -> None:
        """Add a value that should be at most `limit`."""
        self._add(Figure(name, value, unit, f"at most {limit:,.2f} {unit}", value <= limit))

    def least(self, name: str, value: float, unit: str, limit: float) -> None:
        """Add a value that should be at least `limit`."""
        self._add(Figure(name, value, unit, f"at least {limit:,.2f} {unit}", value >= limit))

    def ratio_most(
        self, name: str, value: float, unit: str, floor: float, floor_name: str, limit: float
    ) -> None:
        """Add a value that should be at most `limit` times its floor."""
        self._add(
            Figure(name, value, unit, f"ratio at most {limit:g}", value <= limit * floor, floor, floor_name)
        )

    def ratio_least(
        self, name: str, value: float, unit: str, floor: float, floor_name: str, limit: float
    ) -> None:
        """Add a value that should be at least `limit` times its floor."""
        self._add(
            Figure(name, value, unit, f"ratio at least {limit:g}", value >= limit * floor, floor, floor_name)
        )

    def _add(self, figure: Figure) -> None:
        self.figures.append(figure)
        print(figure, flush=True)


def timed_ms(call: Callable[[Any], Any], inputs: Iterable[Any]) -> list[float]:
    """Time a call on each input, in milliseconds."""
    times = []
    for one in inputs:
        started = time.perf_counter()
        call(one)
        times.append((time.perf_counter() - started) * 1000)
    return times


def p50(times: Sequence[float]) -> float:
    return median(times)


def p95(times: Sequence[float]) -> float:
    return sorted(times)[min(len(times) - 1, round(len(times) * 0.95))]
