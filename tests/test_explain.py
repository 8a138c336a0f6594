"""`dmlgpu explain`: descriptions from words, and what is told of their dispatches."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.commands import is_one_sentence, run

import dmlgpu as dml
from dmlgpu.cli import explain
from dmlgpu.cli.explained import Target, explained
from dmlgpu.gpu import adapters
from dmlgpu.ops import OPERATORS
from dmlgpu.runtime.reach import grid

Capture = pytest.CaptureFixture[str]
ASSUME = ("--assume", "gpu", "--bandwidth", "1000")
SLICE1 = "slice1 --input float32:1x1x4x4 --offsets 0,0,0,1 --sizes 1,1,4,3 --strides 1,1,-2,2"
LINES = {  # a command line: the description it stands for
    SLICE1: dml.Slice1Desc(
        input_tensor=dml.TensorDesc(dml.DataType.FLOAT32, (1, 1, 4, 4)),
        output_tensor=dml.TensorDesc(dml.DataType.FLOAT32, (1, 1, 2, 2)),
        input_window_offsets=(0, 0, 0, 1),
        input_window_sizes=(1, 1, 4, 3),
        input_window_strides=(1, 1, -2, 2),
    ),
    "slice1 --input uint8:6x8:16x2 --strides -1,2 --output uint8:3x2:8,4": dml.Slice1Desc(
        input_tensor=dml.TensorDesc(dml.DataType.UINT8, (6, 8), (16, 2)),
        output_tensor=dml.TensorDesc(dml.DataType.UINT8, (3, 2), (8, 4)),
        input_window_offsets=(0, 0),
        input_window_sizes=(6, 8),
        input_window_strides=(-1, 2),
    ),
    "slice --input int64:10x10 --offsets 1,2 --strides 2x3": dml.SliceDesc(
        input_tensor=dml.TensorDesc(dml.DataType.INT64, (10, 10)),
        output_tensor=dml.TensorDesc(dml.DataType.INT64, (5, 3)),
        offsets=(1, 2),
        sizes=(5, 3),
        strides=(2, 3),
    ),
    "slice --input float16:8x8 --sizes 4,4": dml.SliceDesc(
        input_tensor=dml.TensorDesc(dml.DataType.FLOAT16, (8, 8)),
        output_tensor=dml.TensorDesc(dml.DataType.FLOAT16, (4, 4)),
        offsets=(0, 0),
        sizes=(4, 4),
        strides=(1, 1),
    ),
    "cumulative_summation --input float32:4096x4096 --axis 1": dml.CumulativeSummationDesc(
        input_tensor=dml.TensorDesc(dml.DataType.FLOAT32, (4096, 4096)),
        output_tensor=dml.TensorDesc(dml.DataType.FLOAT32, (4096, 4096)),
        axis=1,
    ),
    "DML_OPERATOR_CUMULATIVE_PRODUCT --input-tensor float16:4x5x6 --axis -1 --exclusive "
    "--direction decreasing": dml.CumulativeProductDesc(
        input_tensor=dml.TensorDesc(dml.DataType.FLOAT16, (4, 5, 6)),
        output_tensor=dml.TensorDesc(dml.DataType.FLOAT16, (4, 5, 6)),
        axis=2,
        axis_direction=dml.AxisDirection.DECREASING,
        has_exclusive_product=True,
    ),
    "GATHER_ND --input float16:32768x64 --indices int64:8192x1": dml.GatherNdDesc(
        input_tensor=dml.TensorDesc(dml.DataType.FLOAT16, (32768, 64)),
        indices_tensor=dml.TensorDesc(dml.DataType.INT64, (8192, 1)),
        output_tensor=dml.TensorDesc(dml.DataType.FLOAT16, (8192, 64)),
        input_dimension_count=2,
        indices_dimension_count=2,
    ),
    "gather_nd --input float32:5x6:8x1 --indices uint32:2": dml.GatherNdDesc(
        input_tensor=dml.TensorDesc(dml.DataType.FLOAT32, (5, 6), (8, 1)),
        indices_tensor=dml.TensorDesc(dml.DataType.UINT32, (1, 2)),
        output_tensor=dml.TensorDesc(dml.DataType.FLOAT32, (1, 1)),
        input_dimension_count=2,
        indices_dimension_count=1,
    ),
    "gather_nd1 --input float32:8x4096x4 --indices int32:8x1000x1 "
    "--batch-dimension-count 1": dml.GatherNd1Desc(
        input_tensor=dml.TensorDesc(dml.DataType.FLOAT32, (8, 4096, 4)),
        indices_tensor=dml.TensorDesc(dml.DataType.INT32, (8, 1000, 1)),
        output_tensor=dml.TensorDesc(dml.DataType.FLOAT32, (8, 1000, 4)),
        input_dimension_count=3,
        indices_dimension_count=3,
        batch_dimension_count=1,
    ),
}


def as_json(capsys: Capture, line: str, *more: str) -> Any:
    status, out, err = run(capsys, "explain", *line.split(), *more, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


@pytest.mark.parametrize("line", LINES)
def test_words_become_a_description(capsys: Capture, line: str) -> None:
    desc = LINES[line]
    dml.validate(desc)
    operator = next(o for o in OPERATORS if o.desc is type(desc))
    assumed = explain.ASSUMED["gpu"]
    expected = explained(operator, desc, Target(assumed.title, assumed.facts, 65535, 1000.0, ""))
    found = as_json(capsys, line, *ASSUME)
    assert found == json.loads(json.dumps(expected | {"bandwidth_from": "--bandwidth"}))


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("assumed", explain.ASSUMED)
def test_what_is_told_is_the_plan(capsys: Capture, line: str, assumed: str) -> None:
    desc = LINES[line]
    operator = next(o for o in OPERATORS if o.desc is type(desc))
    plan = operator.work(desc).plan(explain.ASSUMED[assumed].facts)
    found = as_json(capsys, line, "--assume", assumed)
    assert found["operator"] == operator.name
    assert found["bandwidth_gb_per_s"] is found["seconds_least"] is None
    for told, dispatch in zip(found["dispatches"], plan.dispatches, strict=True):
        assert told["shader"] == dispatch.shader
        assert told["entry"] == dispatch.entry
        assert told["slots"] == dispatch.slots
        assert told["constants"] == dispatch.constants
        assert told["bindings"] == dispatch.bindings
        assert told["grid"] == list(grid(dispatch.workgroups, 65535, operator.name))
        assert told["workgroup_size"] == dispatch.constants.get("WG_SIZE", 256)
        assert set(told["uniforms"]) == set(dispatch.params)
        for name, value in told["uniforms"].items():
            words = value if isinstance(value, list) else [value]
            raw = dispatch.params[name]
            given = list(raw) if isinstance(raw, tuple) else [raw]
            whole = [n if isinstance(n, float) else n & 0xFFFFFFFF for n in words]
            assert whole == given[: len(words)]
            assert not any(given[len(words) :])


def test_the_text(capsys: Capture) -> None:
    status, out, err = run(capsys, "explain", *SLICE1.split(), *ASSUME)
    assert (status, err) == (0, "")
    assert out == (
        "SLICE1 on an assumed discrete GPU with subgroups of 32\n"
        "  input_tensor          FLOAT32 1x1x4x4\n"
        "  output_tensor         FLOAT32 1x1x2x2\n"
        "  input_window_offsets  0, 0, 0, 1\n"
        "  input_window_sizes    1, 1, 4, 3\n"
        "  input_window_strides  1, 1, -2, 2\n"
        "\n"
        "1. move/packed.wgsl, entry point main\n"
        "   constants  WG_SIZE = 256, BITS = 32, AT_ONCE = 1, REPEATS = 1\n"
        "   bindings   input = input_tensor, output = output_tensor\n"
        "   grid       1 x 1 workgroups of 256: 256 invocations\n"
        "   uniforms   count     1\n"
        "              made      1\n"
        "              apart     1\n"
        "              start0    13\n"
        "              sizes     2, 2\n"
        "              strides0  -8, 2\n"
        "              magics    1, 1\n"
        "              shifts    0\n"
        "   moves      80 bytes\n"
        "\n"
        "Least traffic: 64 bytes of input_tensor + 16 bytes of output_tensor = 80 bytes.\n"
        "Least time at 1000 GB/s (--bandwidth): 0.08 ns.\n"
    )


def test_several_passes_tell_scratch_and_all_they_move(capsys: Capture) -> None:
    line = "cumulative_summation --input float32:8388608x2 --axis 0"
    _, out, _ = run(capsys, "explain", *line.split(), *ASSUME)
    assert "1. scan/boxes.wgsl, entry point reduce\n" in out
    assert "3. scan/boxes.wgsl, entry point scan_carried\n" in out
    assert "Scratch memory sums: 24.38 KiB.\n" in out
    assert "Least time at 1000 GB/s (--bandwidth): 134 us.\n" in out
    assert out.endswith("The dispatches move 192.1 MiB: at least 201 us.\n")


def test_what_takes_over_in_place_is_told(capsys: Capture) -> None:
    line = "cumulative_summation --input float32:7x1001 --axis 1"
    _, out, _ = run(capsys, "explain", *line.split(), *ASSUME)
    assert "1. scan/runs.wgsl, entry point main\n" in out
    sentence = "In place, or inside one buffer, other dispatches take over: scan/rows.wgsl with "
    assert (
        sentence + "num = num_f32, fold = fold_float_sum, io = io_elements, "
        "elements = elements_of_32, lane_steps = lane_steps_known.\n" in out
    )
    assert [d["shader"] for d in as_json(capsys, line, *ASSUME)["in_place"]] == ["scan/rows"]


def test_memory_that_calls_share_is_told(capsys: Capture) -> None:
    line = "cumulative_summation --input float32:4194304 --axis 0"
    _, out, _ = run(capsys, "explain", *line.split(), *ASSUME)
    assert "1. scan/stream.wgsl, entry point main\n" in out
    assert "Memory that all calls share, status: 8.281 KiB.\n" in out
    assert as_json(capsys, line, *ASSUME)["shared"] == {"status": 8480}


def test_parts_of_a_large_tensor_are_told(capsys: Capture) -> None:
    """256 MiB each way, 128 MiB at once: three parts that move no more than the whole."""
    line = "slice1 --input float32:16384x4096 --strides 1,-1"
    found = as_json(capsys, line, "--assume", "cpu", "--bandwidth", "10")
    spans = [dispatch["spans"]["output_tensor"] for dispatch in found["dispatches"]]
    assert [start for start, _ in spans] == [0, *(end for _, end in spans[:-1])]
    assert (len(spans), spans[-1][1]) == (3, 256 << 20)
    assert found["bytes_planned"] == found["bytes_least"] == 512 << 20
    _, out, _ = run(capsys, "explain", *line.split(), "--assume", "cpu")
    assert f"0 to {spans[0][1]:,} of output_tensor" in out


def test_a_fused_activation_and_a_scale_are_read_and_told(capsys: Capture) -> None:
    line = "element_wise_add1 --a float32:4 --b float32:4 --fused-activation elu:alpha=0.5"
    told = as_json(capsys, line, *ASSUME)["description"]["fused_activation"]
    assert told == {"operator": "ACTIVATION_ELU", "alpha": 0.5}
    _, out, _ = run(capsys, "explain", *line.split(), *ASSUME)
    assert "  fused_activation  operator = ACTIVATION_ELU, alpha = 0.5\n" in out
    line = "element_wise_abs --input float32:4 --scale-bias 2,1"
    assert as_json(capsys, line, *ASSUME)["description"]["scale_bias"] == {"scale": 2, "bias": 1}


def test_copies_are_told(capsys: Capture) -> None:
    line = "slice --input float32:64x4096 --sizes 64,2048 --assume cpu"
    found = as_json(capsys, line)
    assert found["copies"] == {"count": 64, "bytes": 8192}
    _, out, _ = run(capsys, "explain", *line.split())
    assert "64 copies of 8 KiB each take the place of the dispatches" in out
    assert out.endswith("Least time: not known; --bandwidth GB/S says how fast memory is.\n")


def test_a_broken_rule_is_a_failure(capsys: Capture) -> None:
    line = "slice1 --input float32:4x4 --strides 0,1 --assume gpu"
    status, out, err = run(capsys, "explain", *line.split())
    assert (status, out) == (1, "")
    assert err == "dmlgpu: SLICE1: input_window_strides[0] is 0; it must not be 0\n"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("slice1 --input float32:4x4 --offsets 9,0", "input_window_offsets[0] 9"),
        ("slice1 --input float32:4x4 --strides 1,1,1", "input_window_strides has 3 entries"),
        ("slice1 --input float32:4x4 --offsets 1", "input_window_offsets has 1 entries"),
        ("slice --input float32:4x4 --offsets 9,0", "offsets[0] 9"),
        ("slice --input float32:4x4 --strides 0,1", "strides[0] is 0"),
        ("slice --input float32:4x4 --strides 1,1,1", "3 entries"),
        ("slice --input float32:4x4 --strides -1,1", "it must be in [0, 4294967295]"),
        ("slice --input float32:4x4 --sizes 5000000000,1", "SLICE: sizes[0] is 5"),
        ("cumulative_summation --input float32:4x4 --axis 2", "axis 2 is out of bounds"),
        ("cumulative_summation --input float32:4x4 --axis -3", "axis -3 is out of bounds"),
        ("cumulative_summation --input uint8:4x4 --axis 0", "input_tensor is UINT8"),
        ("gather_nd --input float32:4x4 --indices int32:5x3", "3 coordinates per tuple"),
        ("gather_nd --input float32:4x4 --indices float32:5x1", "indices_tensor is FLOAT32"),
        ("gather_nd1 --input float32:4x4 --indices int32:5x1 --batch-dimension-count 9", "is 9"),
        ("cumulative_product --input float32:4x4 --axis 0 --level 3.0", "needs feature level"),
        ("cumulative_product --input float32:4x4 --axis 0 --level 3.1", "has 2 dimensions"),
    ],
)
def test_descriptions_are_refused_in_one_sentence(capsys: Capture, line: str, words: str) -> None:
    status, out, err = run(capsys, "explain", *line.split(), "--assume", "gpu")
    assert (status, out) == (1, "")
    assert words in err
    assert is_one_sentence(err)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "OPERATOR"),
        ("conv --input float32:4x4", "invalid choice: 'conv'"),
        ("slice1", "the following arguments are required: --input"),
        ("slice1 --input float32", "it is 'float32'; it must be TYPE:SIZES[:STRIDES]"),
        ("slice1 --input float32:1:2:3", "it must be TYPE:SIZES[:STRIDES]"),
        ("slice1 --input int4:4", "the type is 'int4'; it must be one of"),
        ("slice1 --input unknown:4", "the type is 'unknown'; it must be one of"),
        ("slice1 --input float32:4xfour", "it must be whole numbers"),
        ("slice1 --input float32:", "it must be whole numbers"),
        ("slice1 --input float32:0x4", "sizes[0] is 0"),
        ("slice1 --input float32:4x4:1", "strides has 1 entries"),
        ("slice1 --input float32:4 --strides a", "it must be whole numbers"),
        ("slice1 --input float32:4 --inputs float32:4", "unrecognized arguments"),
        ("cumulative_summation --input float32:4", "required: --axis"),
        ("cumulative_summation --input float32:4 --axis one", "invalid int value: 'one'"),
        ("cumulative_summation --input float32:4 --axis 0 --direction up", "it is 'up'"),
        ("element_wise_add1 --a float32:4 --b float32:4 --fused-activation elu", "'alpha'"),
        ("element_wise_add1 --a float32:4 --b float32:4 --fused-activation add", "it is 'add'"),
        ("slice1 --input float32:4 --bandwidth 0", "it must be a number above 0"),
        ("slice1 --input float32:4 --bandwidth fast", "it must be a number above 0"),
        ("slice1 --input float32:4 --bandwidth nan", "it must be a number above 0"),
        ("slice1 --input float32:4 --assume tpu", "invalid choice: 'tpu'"),
        ("slice1 --input float32:4 --assume gpu --adapter x", "not allowed with"),
        ("slice1 --input float32:4 --level 9", "level is '9'"),
    ],
)
def test_a_wrong_command_line_is_one_sentence(capsys: Capture, line: str, words: str) -> None:
    status, out, err = run(capsys, "explain", *line.split())
    assert (status, out) == (2, "")
    assert words in err
    assert is_one_sentence(err)


def test_without_an_adapter_it_says_what_needs_none(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(adapters, "_listed", lambda: ())
    status, out, err = run(capsys, "explain", *SLICE1.split())
    assert (status, out) == (1, "")
    assert err.startswith("dmlgpu: no GPU adapter found")
    assert err.endswith("; --assume gpu or --assume cpu needs none\n")


@pytest.mark.gpu
@pytest.mark.slow
def test_on_this_adapter_its_copy_is_measured(capsys: Capture, device: dml.Device) -> None:
    found = as_json(capsys, SLICE1)
    assert found["adapter"] == str(device.adapter)
    assert found["bandwidth_from"] == "its own copy"
    expected = found["bytes_least"] / found["bandwidth_gb_per_s"] / 1e9
    assert found["seconds_least"] == pytest.approx(expected)
    assert found["facts"]["is_cpu"] == (device.adapter.kind == "cpu")


@pytest.mark.gpu
def test_on_this_adapter_with_a_given_bandwidth(capsys: Capture, device: dml.Device) -> None:
    line = f"{SLICE1} --bandwidth 50".split()
    _, out, _ = run(capsys, "explain", *line, "--adapter", device.adapter.name)
    assert out.startswith(f"SLICE1 on {device.adapter}\n")
    assert "Least time at 50 GB/s (--bandwidth): 1.6 ns.\n" in out


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda o: o.name)
def test_help_lists_the_fields(capsys: Capture, operator: Any) -> None:
    status, out, _ = run(capsys, "explain", operator.name.lower(), "--help")
    assert status == 0
    for field in operator.desc.__dataclass_fields__:
        assert f"--{field.replace('_', '-')}" in out


def test_an_expression_is_one_kernel_with_its_traffic(capsys: Capture) -> None:
    line = ["explain", "fuse", "((x - y) ** 2).mean(1)", "--tensor", "x=float32:512x256"]
    line += ["--tensor", "y=float32:256", *ASSUME]
    code, text, _ = run(capsys, *line)
    assert code == 0
    assert "fuse(((x - y) ** 2).mean(1)) on an assumed discrete GPU" in text
    assert "steps      f32_sub(x0, x1), f32_mul(t0, t0)" in text
    assert "Least traffic: 512 KiB of x0 + 1 KiB of x1 + 2 KiB of output = 515 KiB." in text
    _, text, _ = run(capsys, *line, "--json")
    found = json.loads(text)
    assert [d["shader"] for d in found["dispatches"]] == ["reduce/lines_in_subgroups"]
    assert found["bytes_planned"] == found["bytes_least"] == (512 * 256 + 256 + 512) * 4
    assert found["description"]["axes"] == [1]


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("x +", "invalid syntax"),
        ("x * z", "name 'z' is not defined"),
        ("x.sum() + 1", "sum must be the last step"),
        ("(x + 1)[0]", "index before the steps"),
        ("x[::-1] + 1", "slices that go forward"),
        ("3", "it must return one tensor"),
    ],
)
def test_an_expression_that_cannot_be_traced_is_refused(
    capsys: Capture, expression: str, told: str
) -> None:
    code, _, text = run(capsys, "explain", "fuse", expression, "--tensor", "x=int8:4x4", *ASSUME)
    assert code == 1
    assert told in text
    assert is_one_sentence(text)
