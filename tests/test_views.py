"""Programs that work through views, as people write them for NumPy: tensors end up with the same.

Each program is a function of a namespace, and gives all arrays that it has changed or made.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy
import pytest
from support.namespaces import WAYS, Tensors, in_host_memory, opened

import dmlgpu as dml

pytestmark = pytest.mark.gpu

Program = Callable[[Any], Any]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """One of the programs that are run with NumPy and with tensors."""
    PROGRAMS[function.__name__] = function
    return function


def ramp(np: Any, *shape: int, dtype: Any = numpy.float32) -> Any:
    """0, 1, 2 and so on, in memory of its own."""
    return np.arange(int(numpy.prod(shape)), dtype=dtype).reshape(shape).copy()


def mixed(np: Any, *shape: int, dtype: Any = numpy.int32, below: int = 10) -> Any:
    """Numbers from 0 on in no simple order."""
    numbers = np.arange(int(numpy.prod(shape)), dtype=np.int32)
    return ((numbers * 7 + numbers * numbers * 3 + 5) % below).astype(dtype).reshape(shape).copy()


def same(made: Any, wanted: Any) -> None:
    """Type, shape and every bit."""
    if isinstance(wanted, tuple | list):
        assert len(made) == len(wanted)
        for one, other in zip(made, wanted, strict=True):
            same(one, other)
        return
    got, want = in_host_memory(made), numpy.asarray(wanted)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    numpy.testing.assert_array_equal(got, want)


# --- idioms of one line ----------------------------------------------------------------------


def rows(np: Any, x: Any) -> None:
    for row in x:
        row += 1


def a_row(np: Any, x: Any) -> None:
    row = x[0]
    row += 1


def an_index_after_an_index(np: Any, x: Any) -> None:
    x[0][1] = 99


def an_index_of_the_transpose(np: Any, x: Any) -> None:
    x.T[0][1] = 7


def backward(np: Any, x: Any) -> None:
    x[::-1][0] = 5


def columns_backward(np: Any, x: Any) -> None:
    x[:, ::-2][0] = 5


def flipped(np: Any, x: Any) -> None:
    np.flip(x, 0)[0] = 5


def split(np: Any, x: Any) -> None:
    first, _ = np.split(x, [1])
    first[...] = 0


def turned_in_place(np: Any, x: Any) -> None:
    window = x[:3, :3]
    window[...] = window.T.copy()


def an_output_in_a_row(np: Any, x: Any) -> None:
    np.add(x[0], x[1], out=x[2])


def an_output_backward(np: Any, x: Any) -> None:
    np.multiply(x.copy(), 2, out=x[:, ::-1])


def a_part_filled(np: Any, x: Any) -> None:
    x[1:].fill(9)


def a_part_copied_to(np: Any, x: Any) -> None:
    np.copyto(x[1:], 9)


def a_mask_of_a_part(np: Any, x: Any) -> None:
    part = x[1:]
    part[part > 5] = 0


def a_part_sorted(np: Any, x: Any) -> None:
    x[1:, ::-1].sort(axis=1)


def first_and_last_row(np: Any, x: Any) -> None:
    for edge in (x[0], x[-1]):
        edge[...] = 7


def a_new_axis(np: Any, x: Any) -> None:
    x[..., None][0] = 3


def every_fifth_of_the_line(np: Any, x: Any) -> None:
    x.reshape(-1)[::5] = 1


def scaled_through_swapped_axes(np: Any, x: Any) -> None:
    np.swapaxes(x, 0, 1)[1:].__imul__(2)


def a_copy_of_the_diagonal(np: Any, x: Any) -> None:
    np.diagonal(x).copy()[0] = 1


IDIOMS = [
    *(rows, a_row, an_index_after_an_index, an_index_of_the_transpose, backward),
    *(columns_backward, flipped, split, turned_in_place, an_output_in_a_row, an_output_backward),
    *(a_part_filled, a_part_copied_to, a_mask_of_a_part, a_part_sorted, first_and_last_row),
    *(a_new_axis, every_fifth_of_the_line, scaled_through_swapped_axes, a_copy_of_the_diagonal),
]


@pytest.mark.parametrize("dtype", ["float32", "uint8", "float16", "int64"])
@pytest.mark.parametrize("idiom", IDIOMS, ids=lambda idiom: idiom.__name__)
def test_an_idiom_changes_its_array_as_in_numpy(
    device: dml.Device, idiom: Callable[[Any, Any], None], dtype: str
) -> None:
    wanted = ramp(numpy, 3, 4, dtype=dtype)
    with opened(device):
        x = device.tensor(wanted.copy())
        idiom(numpy, wanted)
        idiom(Tensors("dmlgpu.numpy"), x)
        same(x, wanted)


# --- simulations -----------------------------------------------------------------------------


@program
def game_of_life(np: Any) -> Any:
    """The eight neighbours are views of a board with a border."""
    board = np.zeros((12, 14), dtype=np.int32)
    board[2:5, 3] = 1
    board[6, 6:9] = 1
    board[5, 8] = 1
    board[4, 7] = 1
    inner = board[1:-1, 1:-1]
    for _ in range(5):
        around = (
            board[:-2, :-2]
            + board[:-2, 1:-1]
            + board[:-2, 2:]
            + board[1:-1, :-2]
            + board[1:-1, 2:]
            + board[2:, :-2]
            + board[2:, 1:-1]
            + board[2:, 2:]
        )
        lives = (around == 3) | ((around == 2) & (inner == 1))
        inner[...] = lives
    return board, inner


@program
def heat_in_place(np: Any) -> Any:
    rod = np.zeros(33, dtype=np.float32)
    rod[0], rod[-1] = 64, 128
    for _ in range(4):
        rod[1:-1] += (rod[2:] - 2 * rod[1:-1] + rod[:-2]) * 0.25
    return rod


@program
def jacobi_with_two_buffers(np: Any) -> Any:
    old, new = np.zeros((10, 10), dtype=np.float32), np.zeros((10, 10), dtype=np.float32)
    old[0] = new[0] = 256
    for _ in range(6):
        new[1:-1, 1:-1] = (old[1:-1, 2:] + old[1:-1, :-2] + old[2:, 1:-1] + old[:-2, 1:-1]) * 0.25
        old, new = new, old
    return old, new


@program
def red_and_black(np: Any) -> Any:
    """Every other place is renewed from its neighbours, in place."""
    line = mixed(np, 21, dtype=np.float32) * 16
    for _ in range(3):
        line[1:-1:2] = (line[:-2:2] + line[2::2]) * 0.5
        line[2:-1:2] = (line[1:-2:2] + line[3::2]) * 0.5
    return line


@program
def a_wave(np: Any) -> Any:
    before, now = np.zeros(20, dtype=np.float32), np.zeros(20, dtype=np.float32)
    now[9:11] = 64
    after = np.zeros_like(now)
    for _ in range(7):
        after[1:-1] = now[2:] + now[:-2] - before[1:-1]
        before[...], now[...] = now.copy(), after
    return before, now, after


@program
def rule_thirty(np: Any) -> Any:
    """Each row of a picture is made of the one above it."""
    picture = np.zeros((12, 25), dtype=np.uint8)
    picture[0, 12] = 1
    for above, below in pairwise(picture):
        below[1:-1] = above[:-2] ^ (above[1:-1] | above[2:])
    return picture


@program
def particles_between_walls(np: Any) -> Any:
    """Places and speeds are columns of one array."""
    state = mixed(np, 9, 4, dtype=np.float32) - 4
    places, speeds = state[:, :2], state[:, 2:]
    for _ in range(6):
        places += speeds
        outside = (places < -8) | (places > 8)
        speeds[outside] *= -1
        np.clip(places, -8, 8, out=places)
    return state


# --- lines and buffers -----------------------------------------------------------------------


@program
def sieve_of_eratosthenes(np: Any) -> Any:
    sieve = np.ones(120, dtype=np.bool_)
    sieve[:2] = False
    for i in range(2, 11):
        if sieve[i]:
            sieve[i * i :: i] = False
    return sieve


@program
def a_buffer_moves_down(np: Any) -> Any:
    results = []
    for dtype in (np.float32, np.uint8, np.int64, np.float16):
        x = ramp(np, 37, dtype=dtype)
        x[:-1] = x[1:]
        results.append(x)
    return results


@program
def a_buffer_moves_up(np: Any) -> Any:
    results = []
    for dtype in (np.float32, np.uint8, np.int64, np.float16):
        x = ramp(np, 37, dtype=dtype)
        x[1:] = x[:-1]
        x[3:] = x[:-3]
        results.append(x)
    return results


@program
def a_long_buffer_moves(np: Any) -> Any:
    x = ramp(np, 5000)
    x[1:] = x[:-1]
    x[:-1000] = x[1000:]
    y = ramp(np, 60, 70)
    y[1:, 1:] = y[:-1, :-1]
    return x, y


@program
def a_line_becomes_its_mirror_image(np: Any) -> Any:
    x, y = ramp(np, 11), ramp(np, 4, 5)
    x[::-1] = x
    y[:, ::-1] = y
    return x, y


@program
def halves_change_places(np: Any) -> Any:
    x = ramp(np, 10)
    x[:5], x[5:] = x[5:].copy(), x[:5].copy()
    return x


@program
def sums_by_doubling_steps(np: Any) -> Any:
    """A running sum: each round adds what lies a power of two before."""
    x = mixed(np, 29)
    step = 1
    while step < 29:
        x[step:] += x[:-step]
        step *= 2
    return x


@program
def differences_in_place(np: Any) -> Any:
    x = mixed(np, 23)
    x[1:] -= x[:-1]
    x[:-1] *= x[1:]
    return x


@program
def even_and_odd_places(np: Any) -> Any:
    x = ramp(np, 15, dtype=np.int32)
    even, odd = x[::2], x[1::2]
    even += 100
    odd *= -1
    even[:-1] += odd
    return x, even, odd


@program
def a_ring_of_the_last_values(np: Any) -> Any:
    ring = np.zeros((4, 3), dtype=np.int32)
    for number in range(6):
        ring[:-1] = ring[1:]
        ring[-1] = number
    return ring, ring[::-1], ring.sum(axis=1, dtype=np.int64)


@program
def bubbles(np: Any) -> Any:
    """Neighbours are compared and exchanged through two views."""
    x = mixed(np, 13)
    for number in range(13):
        left = x[number % 2 : -1 : 2]
        right = x[number % 2 + 1 :: 2]
        count = min(len(left), len(right))
        left, right = left[:count], right[:count]
        low, high = np.minimum(left, right), np.maximum(left, right)
        left[...], right[...] = low, high
    return x


@program
def a_fast_transform_of_walsh(np: Any) -> Any:
    x = mixed(np, 16)
    width = 1
    while width < 16:
        pairs = x.reshape(-1, 2, width)
        sums, differences = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]
        pairs[:, 0], pairs[:, 1] = sums, differences
        width *= 2
    return x


# --- matrices --------------------------------------------------------------------------------


@program
def rows_change_places(np: Any) -> Any:
    a = ramp(np, 4, 5)
    a[[0, 1]] = a[[1, 0]]
    a[[0, -1], 1:] = a[[-1, 0], 1:]
    a[:, [0, 2]] = a[:, [2, 0]]
    return a


@program
def a_transpose_is_added_in_place(np: Any) -> Any:
    x = mixed(np, 5, 5)
    x += x.T
    return x


@program
def a_matrix_becomes_its_transpose(np: Any) -> Any:
    x, y = mixed(np, 6, 6), mixed(np, 40, 40, dtype=np.float32)
    x[...] = x.T
    y[...] = y.T
    return x, y


@program
def a_diagonal_is_filled(np: Any) -> Any:
    x, y = np.zeros((5, 5), dtype=np.float32), np.zeros((4, 6), dtype=np.uint8)
    np.fill_diagonal(x, 3)
    x.reshape(-1)[1::6] = 7
    y.ravel()[:: 6 + 1] = 1
    return x, y, np.diagonal(x), np.diagonal(x, 1)


@program
def matrices_of_blocks(np: Any) -> Any:
    whole = np.zeros((6, 6), dtype=np.float32)
    blocks = whole.reshape(2, 3, 2, 3).swapaxes(1, 2)
    for i in range(2):
        for j in range(2):
            blocks[i, j][...] = 10 * i + j
            blocks[i, j][1, 1] += 100
    whole[:3, :3] += whole[3:, 3:]
    return whole, blocks


@program
def elimination_of_gauss(np: Any) -> Any:
    """Rows are subtracted from rows below them, in place."""
    a = np.asarray([[2, 1, -1, 8], [-2, -1, 2, -11], [-2, 1, 2, -3]], dtype=np.float32)
    a[[1, 2]] = a[[2, 1]]
    for i in range(3):
        for below in a[i + 1 :]:
            below -= a[i] * (below[i] / a[i, i])
    return a


@program
def rows_made_whole(np: Any) -> Any:
    """Each row is divided by its greatest, which is a power of two."""
    x = np.asarray([[1, 2, 4], [8, 2, 6], [16, 12, 1], [2, 1, 0]], dtype=np.float32)
    for row in x:
        row /= row.max()
    return x


@program
def rows_without_their_mean(np: Any) -> Any:
    x = ramp(np, 5, 4) * 2
    for row in x:
        row -= row.mean()
    return x


@program
def columns_without_their_least(np: Any) -> Any:
    x = mixed(np, 6, 5)
    for column in x.T:
        column -= column.min()
    return x


@program
def two_matrices_row_by_row(np: Any) -> Any:
    x, y = ramp(np, 4, 3), mixed(np, 4, 3, dtype=np.float32)
    for number, (first, second) in enumerate(zip(x, y, strict=True)):
        first += second
        second[number % 3 :] = first[: 3 - number % 3]
    return x, y


@program
def columns_sorted_in_place(np: Any) -> Any:
    x = mixed(np, 7, 5)
    x[:, 1].sort()
    x[::-1, 2].sort()
    x[:, 3:].sort(axis=0)
    x.T[0].sort()
    return x


@program
def outputs_into_columns(np: Any) -> Any:
    x, table = mixed(np, 6), np.zeros((6, 4), dtype=np.int32)
    np.add(x, 1, out=table[:, 0])
    np.multiply(x, x, out=table[::-1, 1])
    np.maximum(table[:, 0], table[:, 1], out=table[:, 2])
    np.subtract(table[:, 2], table[:, 1], out=table[:, 3])
    np.negative(table, out=table[:, ::-1])
    return table


@program
def a_triangle_of_pascal(np: Any) -> Any:
    t = np.zeros((9, 9), dtype=np.int64)
    t[:, 0] = 1
    for i in range(1, 9):
        t[i, 1:] = t[i - 1, 1:] + t[i - 1, :-1]
    return t


@program
def a_spiral(np: Any) -> Any:
    """The outermost row is taken off a view that is turned again and again."""
    numbers = np.zeros((5, 6), dtype=np.int32)
    view, count = numbers, 0
    while 0 not in view.shape:
        length = view.shape[1]
        view[0] = np.arange(count, count + length, dtype=np.int32)
        count += length
        view = np.rot90(view[1:])
    return numbers


@program
def shortest_ways_between_all(np: Any) -> Any:
    """The algorithm of Floyd and Warshall, a place at a time."""
    d = mixed(np, 7, 7, below=50)
    for k in range(7):
        np.minimum(d, d[:, k, None] + d[k, None, :], out=d)
    return d


# --- pictures --------------------------------------------------------------------------------


@program
def a_border_around_a_picture(np: Any) -> Any:
    wide = np.zeros((8, 9), dtype=np.uint8)
    picture = wide[2:-2, 2:-2]
    picture[...] = mixed(np, 4, 5, dtype=np.uint8) + 1
    wide[1], wide[-2] = wide[2], wide[-3]
    wide[:, 1], wide[:, -2] = wide[:, 2], wide[:, -3]
    for edge in (wide[0], wide[-1], wide[:, 0], wide[:, -1]):
        edge.fill(255)
    return wide, picture


@program
def checkerboard(np: Any) -> Any:
    board = np.zeros((9, 7), dtype=np.uint8)
    board[::2, ::2] = 1
    board[1::2, 1::2] = 1
    board[::-3, ::-2] += 4
    return board


@program
def channels_of_a_picture(np: Any) -> Any:
    picture = mixed(np, 5, 7, 3, dtype=np.uint8, below=200)
    red, green, blue = (picture[..., n] for n in range(3))
    red += 20
    green[green > 100] = 0
    blue[...] = blue[:, ::-1]
    picture[..., 0], picture[..., 2] = picture[..., 2].copy(), picture[..., 0].copy()
    return picture, red, green, blue


@program
def smaller_by_blocks(np: Any) -> Any:
    picture = mixed(np, 6, 8, dtype=np.float32)
    blocks = picture.reshape(3, 2, 4, 2)
    small = blocks.max(axis=(1, 3))
    blocks[:, 0, :, 0] = small
    return picture, small


@program
def windows_that_slide(np: Any) -> Any:
    x = mixed(np, 17)
    windows = np.lib.stride_tricks.sliding_window_view(x, 4)
    before = windows.max(axis=1)
    x[5:9] = 100
    return before, windows.max(axis=1), windows[::3]


@program
def mirrored_and_turned(np: Any) -> Any:
    x = mixed(np, 5, 4)
    np.fliplr(x)[0] = 40
    np.flipud(x)[0] = 50
    np.rot90(x)[0, :2] = 60
    np.rot90(x, 2)[1, 1:] += 5
    np.rot90(x, -1)[-1] *= 2
    return x


# --- views of views --------------------------------------------------------------------------


@program
def views_of_views_of_views(np: Any) -> Any:
    x = ramp(np, 6, 8)
    y = x[1:, ::-1]
    z = y[::2].T
    w = z[1:-1:2, ..., None]
    w[...] = -w
    z[0] = 1000
    y[-1] += 0.5
    return x, y, z, w


@program
def a_view_outlives_its_base(np: Any) -> Any:
    def middle(dtype: Any) -> Any:
        x = ramp(np, 50, dtype=dtype)
        return x[7:40:3][::-1]

    views = [middle(dtype) for dtype in (np.float32, np.uint8, np.int64)]
    others = [ramp(np, 50, dtype=np.int32) for _ in range(5)]
    for view in views:
        view += 1
        view[2] = 0
    return views, others


@program
def a_copy_is_on_its_own(np: Any) -> Any:
    x = ramp(np, 4, 4)
    copies = [x.copy(), x[1:].copy(), x.flatten(), x[::-1] + 0, x[[0, 1]], x[x > 3]]
    x.fill(-1)
    for copy in copies:
        copy += 1
    return x, copies


@program
def what_was_calculated_stays(np: Any) -> Any:
    """A function has the values that its arguments had, whatever is written afterwards."""
    x = ramp(np, 40)
    sums = x[1:] + x[:-1]
    part = x[3:30]
    doubled = part * 2
    x[...] = 0
    part += 1
    return x, sums, part, doubled


@program
def a_reshape_of_a_transpose_is_a_copy(np: Any) -> Any:
    x = ramp(np, 3, 4)
    line, other = x.T.reshape(-1), x.reshape(2, 6)
    line[...] = -1
    other[0] = 50
    return x, line, other


@program
def bits_seen_as_another_type(np: Any) -> Any:
    x = ramp(np, 9)
    bits = x[1::2].view(np.uint32)
    bits |= 0x80000000
    flags = x > -4
    flags.view(np.uint8)[:3] = 1
    return x, bits, flags


@program
def pieces_of_a_split(np: Any) -> Any:
    x = ramp(np, 10, 3)
    for number, part in enumerate(np.array_split(x, 4)):
        part *= number
    left, right = np.split(x, [1], axis=1)
    right[...] = right[::-1]
    left -= 1
    first, *_, last = np.array_split(x.ravel(), 7)
    first[0], last[-1] = 500, 600
    return x


@program
def axes_moved_and_new(np: Any) -> Any:
    x = ramp(np, 2, 3, 4)
    np.moveaxis(x, 0, -1)[1] = 1
    np.transpose(x, (2, 0, 1))[3, :, ::2] += 10
    np.expand_dims(x, 1)[0, 0, 0] = 5
    x[:1].squeeze()[1] = 6
    x[:, None, ..., None][1, 0, 2, 3, 0] = 7
    np.atleast_3d(x[0, 0])[0, 1] = 8
    return x


@program
def places_counted_in_a_view(np: Any) -> Any:
    table = np.zeros((3, 8), dtype=np.int32)
    places = np.asarray([1, 3, 3, 0, 1, 3], dtype=np.int64)
    np.add.at(table[1, ::2], places, 1)
    np.add.at(table[::-1], [0, 0, 2], table[1])
    np.maximum.at(table.T, [0, 7], 4)
    return table


@program
def masks_and_lists_of_views(np: Any) -> Any:
    x = mixed(np, 8, 6)
    part = x[1::2, ::-1]
    part[part % 2 == 0] = 0
    part[[0, -1], 1] = [70, 80]
    part[:, [4, 2]] += part[:, [0, 0]]
    part.T[1][part.T[0] == 0] = -5
    np.put(part, [0, 5, -1], 33)
    np.put_along_axis(part, np.asarray([[2], [3], [0], [1]], dtype=np.int64), 44, axis=1)
    return x, part


@program
def one_memory_under_many_names(np: Any) -> Any:
    x = ramp(np, 24, dtype=np.int32)
    cube, table, line = x.reshape(2, 3, 4), x.reshape(4, 6), x[::-1]
    cube[1, :, 0] = -1
    table[:, -1] *= 2
    line[:3] = 9
    x[10] = 77
    return x, cube, table, line


@program
def arrays_without_dimensions(np: Any) -> Any:
    x = ramp(np, 5)
    middle = x[2, ...]
    middle[...] = 20
    middle += 1
    last = x.reshape(5, 1)[4:, 0].reshape(())
    last.fill(50)
    return x, middle, last


@program
def numbers_taken_out_of_a_line_stay(np: Any) -> Any:
    """An index of every axis gives a number, which later writes do not change."""
    x, table = ramp(np, 5), ramp(np, 3, 3)
    first = x[0]
    x[0] = x[4]
    x[4] = first
    x[1], x[3] = x[3], x[1]
    table[0, 0], table[2, 2] = table[2, 2], table[0, 0]
    corner, numbers = table[0, 2], list(x)
    x[...] = -1
    table.fill(-2)
    first = first + corner
    return x, table, np.asarray(first), np.stack(numbers)


@program
def a_sort_by_insertion(np: Any) -> Any:
    """Numbers are lifted out of the line and put down again."""
    x = mixed(np, 9)
    for i in range(1, 9):
        lifted, place = x[i], i
        while place > 0 and x[place - 1] > lifted:
            x[place] = x[place - 1]
            place -= 1
        x[place] = lifted
    return x


@program
def views_without_elements(np: Any) -> Any:
    x = ramp(np, 4, 3)
    for nothing in (x[4:], x[:, 3:], x[2:2, ::-1], x[:0].T, x[5:].reshape(3, 0)):
        nothing += 1
        nothing[...] = 7
        nothing.fill(3)
    return x, x[9:], x[:, :0].T


@program
def what_is_broadcast_follows(np: Any) -> Any:
    x = ramp(np, 3, 1)
    wide = np.broadcast_to(x, (2, 3, 4))
    x[1] = 40
    y = ramp(np, 3, 4)
    y += wide[1]
    x[...] = 1
    return x, wide, y, wide + y


@pytest.mark.parametrize("through", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_ends_with_what_numpy_has(device: dml.Device, name: str, through: str) -> None:
    wanted = PROGRAMS[name](numpy)
    with opened(device):
        same(PROGRAMS[name](Tensors(through)), wanted)


# --- what cannot be written ------------------------------------------------------------------

READ_ONLY: dict[str, Callable[[Any, Any], Any]] = {
    "broadcast_to": lambda np, x: np.broadcast_to(x, (2, 3, 3)),
    "broadcast_to of its own shape": lambda np, x: np.broadcast_to(x, (3, 3)),
    "a part of broadcast_to": lambda np, x: np.broadcast_to(x, (2, 3, 3))[0, 1:].T,
    "diagonal": lambda np, x: np.diagonal(x),
    "sliding_window_view": lambda np, x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=0),
}
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "x[...] = 1": lambda np, x: x.__setitem__(..., 1),
    "x += 1": lambda np, x: x.__iadd__(1),
    "x.fill(1)": lambda np, x: x.fill(1),
    "x[x > 1] = 0": lambda np, x: x.__setitem__(x > 1, 0),
    "x[[0, 1]] = 0": lambda np, x: x.__setitem__([0, 1], 0),
    "out=x": lambda np, x: np.negative(x, out=x),
    "copyto": lambda np, x: np.copyto(x, 1),
    "sort": lambda np, x: x.sort(axis=0),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", READ_ONLY)
def test_what_is_read_only_refuses_writes(device: dml.Device, view: str, write: str) -> None:
    """NumPy refuses them with ValueError, and nothing is written."""
    a = ramp(numpy, 3, 3)
    with pytest.raises(ValueError, match="read-only"):
        WRITES[write](numpy, READ_ONLY[view](numpy, a))
    with opened(device):
        np, x = Tensors("dmlgpu.numpy"), device.tensor(a)
        made = READ_ONLY[view](np, x)
        with pytest.raises(ValueError):  # noqa: PT011
            WRITES[write](np, made)
        same(x, a)
