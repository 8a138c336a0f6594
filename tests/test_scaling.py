"""The traffic model of docs/scaling.md: it predicts what was measured, and the page shows both."""

from __future__ import annotations

import json

import pytest

from benchmarks import scaling

KEPT = json.loads(scaling.RESULTS.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("job", "workers", "measured", "model"),
    [pytest.param(*point, id=f"{point[0]}-{point[1]}") for point in scaling.points(KEPT)],
)
def test_the_model_is_within_a_fifth(job: str, workers: int, measured: float, model: float) -> None:
    assert model == pytest.approx(measured, rel=0.2), f"{job} on {workers} workers"


def test_one_two_and_four_workers_were_measured() -> None:
    assert {workers for _, workers, _, _ in scaling.points(KEPT)} == {1, 2, 4}


def test_the_page_shows_the_tables() -> None:
    page = scaling.PAGE.read_text(encoding="utf-8")
    assert scaling.written(page) == page


def test_bytes_cross_as_the_page_says() -> None:
    """`(W - 1) / W` of the array in an exchange of all with all, next to nothing in a scan."""
    everything = scaling.measured_job("rechunk")
    assert everything.crossing(1) == 0
    assert everything.crossing(4) == everything.size * 3 / 4
    assert scaling.measured_job("scan").crossing(2) < everything.size / 100
    assert scaling.measured_job("sum").crossing(4) == 0


def test_predictions_are_made_for_8_and_64_gpus() -> None:
    rows = list(scaling.predictions())
    assert {gpus for _, gpus, _, _ in rows} == {8, 64}
    assert all(0 < efficiency <= 1 for _, _, _, efficiency in rows)
