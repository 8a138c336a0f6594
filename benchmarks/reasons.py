"""Why rows on the H200 miss their aim, as found by measuring; other rows have no known reason."""

from __future__ import annotations

from benchmarks.report import SHORT

# Of rows that take longer by the host's clock than by the GPU's: all of them, whatever their type.
BY_THE_HOST = {
    name: "the result's size is read back from the GPU before the result is made"
    for name in ("counts of bytes", "elements under a mask")
}
READ_AGAIN = "tiles are read again from the cache: three transfers through it for a copy's two"
REASONS = {
    ("gather scalars, int64 indices", "float32"): (
        "the limit reads one index of 4 bytes per element, the workload two of 8"
    ),
    **{
        ("gather elements of rows", dtype): (
            "the limit reads an index of 4 bytes per element, the workload one of 8; by uint32 "
            "both read the same"
        )
        for dtype in SHORT
    },
    ("gather rows of 16", "float32"): (
        "pieces of 64 bytes from anywhere: a bare gather of them takes as long, and one written in "
        "CUDA 0.373 ms"
    ),
    ("gather pixels of 3 bytes", "uint8"): (
        "each pixel is read from a sector of 32 bytes of its own"
    ),
    ("scatter a few elements", "float32"): (
        "4 Mi places anywhere are gone to three times, so that the last update of each stays; "
        "PyTorch leaves open which"
    ),
    ("slice stride 2, last two axes", "uint8"): (
        "a copy of as many bytes, 201 MB, takes 51 us: starting and ending cost 4 us of them"
    ),
    **{
        ("transposes of 255 x 1027", dtype): (
            "rows begin within sectors on both sides: tiles read those in which they meet twice"
        )
        for dtype in SHORT
    },
    **{
        ("cumsum of 4095 columns", dtype): (
            "rows begin anywhere in 16 bytes: of 16 units that a tile reads two are its neighbour's"
        )
        for dtype in SHORT
    },
    ("cumsum axis 0", "float16"): (
        "registers bound the tiles in flight; even without waiting no form of it went beyond 0.89"
    ),
    ("cumsum rows of 1001", "int64"): (
        "finding out which elements of 16 bytes are a line's costs the same for two as for eight"
    ),
    **{("cumsum one line", dtype): READ_AGAIN for dtype in SHORT},
}
