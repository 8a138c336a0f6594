"""Assembly and packing of shaders, without a GPU; tests/test_access.py runs what is assembled."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.kernels import FILES, read_file, slots_of

import dmlgpu as dml
from dmlgpu.plan.dispatch import eight
from dmlgpu.wgsl import assembly as wgsl
from dmlgpu.wgsl import source
from dmlgpu.wgsl.assembly import Access, Shader, StorageBinding, assemble
from dmlgpu.wgsl.params import declaration, layout_of, pack_params


@pytest.fixture(autouse=True)
def shaders(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests assemble their own small kernels."""
    monkeypatch.setattr(source, "read", read_file)


def made(kernel: str = "unit", **access: Access) -> Shader:
    return assemble(kernel, slots_of(kernel), access)


def line_of(shader: Shader, kernel: str, directive: str) -> str:
    """The line that stands where the file had a directive."""
    return shader.text.splitlines()[FILES[kernel].splitlines().index(directive)]


def functions(shader: Shader) -> set[str]:
    return set(re.findall(r"\bfn (\w+)\(", shader.text))


def test_every_line_of_the_file_keeps_its_number() -> None:
    shader = made()
    assert shader.label == "unit.wgsl"
    lines = shader.text.splitlines()
    for number, line in enumerate(FILES["unit"].splitlines()):
        if not line.startswith("#"):
            assert lines[number] == line
    assert line_of(shader, "unit", "#import body") == ""
    assert "#" not in shader.text


def test_snippets_follow_the_kernel() -> None:
    after = made().text.splitlines()[len(FILES["unit"].splitlines()) :]
    assert after[:-1] == FILES["unit_body"].splitlines()
    assert after[-1].startswith("struct Params { count: u32, bias: i32, } ")


def test_bindings_are_numbered_in_order_of_appearance() -> None:
    shader = made()
    assert shader.bindings == (StorageBinding(1, "input", 0), StorageBinding(2, "output", 0))
    assert "@group(0) @binding(1) var<storage, read> input: array<vec4<u32>>;" in line_of(
        shader, "unit", "#bind read input: vec4<u32>"
    )
    assert "@group(0) @binding(2) var<storage, read_write> output: array<vec4<u32>>;" in line_of(
        shader, "unit", "#bind write output: vec4<u32>"
    )


def test_each_mode_declares_its_functions() -> None:
    assert {"load_input", "load_output", "store_output"} <= functions(made())
    assert "store_input" not in functions(made())
    atomic = made("report")
    names = ("load", "store", "merge", "max", "add")
    assert {f"{name}_report" for name in names} <= functions(atomic)
    assert "var<storage, read_write> report: array<atomic<u32>>;" in atomic.text


@pytest.mark.parametrize("more", ["bdy", "output"])
def test_a_slot_that_nothing_imports_is_refused(more: str) -> None:
    slots = {"body": "unit_body", more: "unit_body"}
    expected = re.escape(f"unit.wgsl imports ['body']; the plan fills {sorted(slots)}")
    with pytest.raises(dml.DeviceError, match=f"^{expected}$"):
        assemble("unit", slots)


def test_an_open_slot_is_the_snippet_of_its_name() -> None:
    with pytest.raises(dml.DeviceError, match=r"^shader body\.wgsl cannot be read"):
        assemble("unit", {})
    assert {"first", "second"} <= functions(assemble("outer", {"third": "other"}))


def test_snippets_import_in_turn_and_each_comes_once() -> None:
    shader = assemble("outer", {"third": "other"})
    assert shader.text.splitlines()[:3] == ["", "", "fn main() {}"]
    for name in ("first", "second", "other"):
        assert shader.text.count(f"fn {name}()") == 1
    assert [b.name for b in shader.bindings] == ["a", "b"]


def test_no_function_of_a_kernel_is_named_like_one_of_a_library() -> None:
    """Its call would import the library's file, whose own constants the kernel may lack."""
    libraries = {*source.library("number"), "math"} - {"index"}  # indices have two ways, one name
    files = [
        f for f in source.shader_folder().rglob("*.wgsl") if f.parent.name not in ("number", "math")
    ]
    assert len(files) > 40
    for file in files:
        named = re.findall(r"^fn (\w+?)_", file.read_text(), re.M)
        assert libraries.isdisjoint(named), file.name


def test_of_a_library_comes_what_is_called_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    code = "fn sign(a: f32) -> f32 { return f32_sign(f32_add(a, f32_one())); }"
    lines, imported = source.expanded("move/tile", {}, code)
    found = {name for name in re.findall(r"^fn (\w+)", "\n".join(lines), re.M) if "f32_" in name}
    called = {"f32_sign", "f32_add", "f32_one", "f32_magnitude", "f32_is_negative"}
    assert found == called
    assert "number/f32" in imported
    assert lines.count("fn f32_one() -> f32 { return 1.0; }") == 1


def test_every_function_of_a_library_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """In its own file, whole; other files stand in for some, with the same names."""
    monkeypatch.undo()
    for folder in ("number", "math"):
        for file in source.library(folder):
            functions = source._functions(f"{folder}/{file}")
            for name, lines in functions.items():
                assert "\n".join(lines).count("{") == "\n".join(lines).count("}")
                prefix, _, rest = name.partition("_")
                assert not name or source._library_file(prefix, rest)


def test_a_repeated_line_is_written_out_on_one_line() -> None:
    assert assemble("counts", {}).text.splitlines() == [
        "a0;",
        "0 1 2 3 4 5 6 7 8 9 10 11",
        "f(0, 0u); f(1, 1u);",
        "",
        "last",
    ]


def test_kernels_and_snippets_repeat_without_moving_other_lines() -> None:
    shader = made("repeat")
    lines = shader.text.splitlines()
    kernel, snippet = FILES["repeat"].splitlines(), FILES["four"].splitlines()
    assert len(lines) == len(kernel) + len(snippet) + 1  # and the parameters
    for number, line in enumerate(kernel + snippet):
        if "#" not in line:
            assert lines[number] == line
    assert lines[len(kernel) + 1] == " ".join(f"let v{k} = load_input(i + {k}u);" for k in range(4))
    assert "#" not in shader.text
    assert "$" not in shader.text


def test_a_missing_shader_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with pytest.raises(dml.DeviceError, match=r"^shader nowhere\.wgsl cannot be read: "):
        source.read("nowhere")


def test_binds_lists_names_of_kernel_and_snippets() -> None:
    assert wgsl.binds("word_to_unit", {}) == {
        "input": ("read", "u32"),
        "output": ("write", "vec4<u32>"),
    }
    assert wgsl.binds("outer", {"third": "other"}) == {"a": ("read", "u32"), "b": ("write", "u32")}


def test_an_aliased_name_has_functions_but_no_binding() -> None:
    shader = made(input=Access(alias="output"))
    assert shader.bindings == (StorageBinding(1, "output", 0),)
    assert "var<storage" not in line_of(shader, "unit", "#bind read input: vec4<u32>")
    assert "load_input" in functions(shader)
    assert shader.ranges == ()


def test_an_offset_or_scalar_name_gets_a_range() -> None:
    shader = made(input=Access(scalar=True), output=Access(offset=True))
    assert shader.ranges == ("input", "output")
    assert shader.ranges_binding == 3
    assert (
        "@group(0) @binding(3) var<uniform> tensor_ranges: array<vec4<u32>, 2>;"
        in shader.text.splitlines()
    )
    assert "tensor_ranges[0].y" in line_of(shader, "unit", "#bind read input: vec4<u32>")
    assert "tensor_ranges[1].x" in line_of(shader, "unit", "#bind write output: vec4<u32>")


def test_a_scalar_name_is_bound_as_words() -> None:
    shader = made(output=Access(scalar=True))
    assert "read_write> output: array<u32>;" in shader.text
    assert "fn store_output(i: u32, v: vec4<u32>)" in shader.text


def test_windows_are_consecutive_bindings() -> None:
    shader = made(input=Access(windows=3, window_units=16))
    assert shader.bindings == (
        StorageBinding(1, "input", 0),
        StorageBinding(2, "input", 1),
        StorageBinding(3, "input", 2),
        StorageBinding(4, "output", 0),
    )
    for window in range(3):
        assert f"read> input_{window}: array<vec4<u32>>;" in shader.text
    assert made() == made(input=Access(windows=1))


PARAMS = layout_of(
    [
        "#param count: u32 // elements",
        "#param scale: f32",
        "fn main() {}",
        "#param strides: array<vec4<u32>, 2>",
        "#param bias: i32",
        "#param count: u32",
        "#param last: u32",
        "#param more: u32",
        "#param sizes: array<vec4<u32>, 2> // of the loops",
    ]
)
VALUES: dict[str, Any] = {
    "count": 0xFFFFFFFE,
    "scale": 1.5,
    "bias": -3,
    "strides": eight([-2, 5, -(2**31)]),
    "last": 7,
    "more": 8,
    "sizes": eight([2, 3], fill=1),
}


def test_params_layout_follows_wgsls_uniform_rules() -> None:
    assert PARAMS == (
        ("count", "u32", 0),
        ("scale", "f32", 4),
        ("bias", "i32", 8),
        ("last", "u32", 12),
        ("more", "u32", 16),
        ("strides", "array<vec4<u32>, 2>", 32),
        ("sizes", "array<vec4<u32>, 2>", 64),
    )
    assert declaration(PARAMS) == (
        "struct Params { count: u32, scale: f32, bias: i32, last: u32, more: u32, "
        "strides: array<vec4<u32>, 2>, sizes: array<vec4<u32>, 2>, } "
        "@group(0) @binding(0) var<uniform> params: Params;"
    )


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["#param a: vec3<u32>"], "the parameter a is of type vec3<u32>, which cannot be packed"),
        (["#param a: u32", "#param a: f32"], "the parameter a is both u32 and f32"),
    ],
)
def test_params_that_cannot_be_laid_out_are_refused(lines: list[str], said: str) -> None:
    with pytest.raises(dml.DeviceError, match=f"^{re.escape(said)}$"):
        layout_of(lines)


def test_params_are_packed_byte_for_byte() -> None:
    expected = bytes.fromhex(
        "feffffff 0000c03f fdffffff 07000000"  # count, scale, bias, last
        "08000000 00000000 00000000 00000000"  # more, padding
        "feffffff 05000000 00000080 00000000"  # strides, two's complement
        "00000000 00000000 00000000 00000000"
        "02000000 03000000 01000000 01000000"  # sizes
        "01000000 01000000 01000000 01000000"
    )
    assert pack_params("a.wgsl", PARAMS, VALUES) == expected


def test_params_are_whole_16_byte_units() -> None:
    layout = layout_of(["#param a: u32"])
    assert pack_params("a.wgsl", layout, {"a": 1}) == bytes.fromhex("01000000" + 12 * "00")


@pytest.mark.parametrize("change", ["missing", "extra", "misspelt"])
def test_params_and_plan_must_name_the_same_fields(change: str) -> None:
    values = dict(VALUES)
    if change != "extra":
        del values["last"]
    if change != "missing":
        values["lest"] = 1
    expected = f"a.wgsl has the parameters {sorted(VALUES)}; the plan gave {sorted(values)}"
    with pytest.raises(dml.DeviceError, match=f"^{re.escape(expected)}$"):
        pack_params("a.wgsl", PARAMS, values)
