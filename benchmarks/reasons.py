"""Why rows on the H200 miss their aim, as found by measuring; other rows have no known reason."""

from __future__ import annotations

from benchmarks.report import SHORT

READ_AGAIN = "tiles are read again from the cache: three transfers through it for a copy's two"
REASONS = {
    ("gather scalars, int64 indices", "float32"): (
        "the limit reads one index of 4 bytes per element, the workload two of 8"
    ),
    ("gather rows of 16", "float32"): (
        "a bare gather of 64-byte pieces takes 0.364 ms on the card, this 0.362 in the same run"
    ),
    ("slice stride 2, last two axes", "uint8"): (
        "a copy of as many bytes, 201 MB, takes 51 us: starting and ending cost 4 us of them"
    ),
    ("cumsum axis 0", "float16"): (
        "registers bound the tiles in flight; other tiles and a two-level wait were slower"
    ),
    **{("cumsum one line", dtype): READ_AGAIN for dtype in SHORT},
}
