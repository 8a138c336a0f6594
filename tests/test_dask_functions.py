"""The page about functions of dask.array says what really happens."""

from __future__ import annotations

import re
from pathlib import Path

import dask.array as da
import pytest
from support import dask_functions

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("device")]

PAGE = Path(__file__).resolve().parent.parent / "docs" / "dask-functions.md"
TEXT = PAGE.read_text(encoding="utf-8")
TOLD = dict(re.findall(r"^\| `(.*?)` \| (.*) \|$", TEXT, re.M))


@pytest.mark.parametrize("name", sorted(dask_functions.CASES))
def test_a_function_does_what_the_page_says(name: str) -> None:
    assert dask_functions.outcome(name) == TOLD[name]


def test_the_page_is_made_of_its_rows() -> None:
    assert dask_functions.page(TOLD) == TEXT, "python tests/support/dask_functions.py writes it"


def test_enough_functions_are_tried() -> None:
    named = {name.split(",")[0] for name in dask_functions.CASES}
    assert len([name for name in named if callable(getattr(da, name, None))]) >= 60
