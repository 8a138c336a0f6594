"""The public names that are promised, and what they take."""

from __future__ import annotations

TYPES = ["AxisDirection", "DataType", "FeatureLevel", "TensorDesc", "TensorFlags"]
DESCS = {
    "SliceDesc": ["offsets", "sizes", "strides"],
    "Slice1Desc": ["input_window_offsets", "input_window_sizes", "input_window_strides"],
    "GatherNdDesc": ["input_dimension_count", "indices_dimension_count"],
    "GatherNd1Desc": [
        "input_dimension_count",
        "indices_dimension_count",
        "batch_dimension_count",
    ],
    "CumulativeSummationDesc": ["axis", "axis_direction", "has_exclusive_sum"],
    "CumulativeProductDesc": ["axis", "axis_direction", "has_exclusive_product"],
}
FUNCTIONS = {
    "adapters": "",
    "cumulative_product": "x axis axis_direction exclusive",
    "cumulative_summation": "x axis axis_direction exclusive",
    "default_device": "",
    "gather_nd": "x indices input_dimension_count indices_dimension_count",
    "gather_nd1": ("x indices input_dimension_count indices_dimension_count batch_dimension_count"),
    "slice": "x offsets sizes strides",
    "slice1": "x input_window_offsets input_window_sizes input_window_strides output_sizes",
    "validate": "desc feature_level",
}
METHODS: dict[str, dict[str, str]] = {
    "Device": {
        "__init__": "adapter feature_level debug implicit",
        "close": "",
        "compile": "desc",
        "empty": "desc",
        "flush": "",
        "from_wgpu": "wgpu_device",
        "tensor": "obj dtype",
        "upload": "desc data",
        "wait": "",
        "wrap": "wgpu_buffer desc offset",
    },
    "CompiledOperator": {"__call__": "inputs out"},
    "Tensor": {"numpy": "", "tobytes": "", "__getitem__": "index"},
    "TensorDesc": {
        "__init__": (
            "data_type sizes strides total_tensor_size_in_bytes "
            "guaranteed_base_offset_alignment flags"
        )
    },
    "DataType": {"from_numpy": "dtype"},
}
ATTRIBUTES = {
    "TensorDesc": ["effective_strides", "element_count", "minimum_size_in_bytes", "rank"],
    "Tensor": ["__array__", "buffer", "desc", "device", "dtype", "offset", "shape"],
    "Device": ["__enter__", "__exit__"],
    "DataType": ["numpy"],
}
# class: (base of this library, base of Python, DirectML's code)
ERRORS: dict[str, tuple[str, type[Exception], int]] = {
    "InvalidDescError": ("DmlError", ValueError, 0x80070057),
    "UnsupportedError": ("DmlError", ValueError, 0x887A0004),
    "BindingError": ("DmlError", ValueError, 0x80070057),
    "IndexRangeError": ("DmlError", IndexError, 0x80070057),
    "DeviceError": ("DmlError", RuntimeError, 0x887A0004),
    "DeviceLostError": ("DeviceError", RuntimeError, 0x887A0005),
    "OutOfMemoryError": ("DmlError", MemoryError, 0x8007000E),
}
PROMISED = {
    *TYPES,
    *DESCS,
    *FUNCTIONS,
    *ERRORS,
    "CompiledOperator",
    "Device",
    "DmlError",
    "Tensor",
}
