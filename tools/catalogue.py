"""Makes dmlgpu/desc/catalogue.json: what DirectML's documents say of its 177 operators, as data.

    python tools/catalogue.py

tools/survey.json is a reading of Microsoft's pages and headers, one entry per operator: fields of
the struct, tables of tensor support, equal-size constraints, in-place execution. Where the pages
are wrong or contradict each other, the survey carries a correction beside what it read; the file
made here holds the corrected facts only, in the names that Python code uses.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

SURVEY = Path(__file__).with_name("survey.json")
MADE = SURVEY.parents[1] / "dmlgpu" / "desc" / "catalogue.json"
PROPERTIES = {"DataType": "data_type", "DimensionCount": "rank", "Sizes": "sizes"}
# Pages that forget to demand one rank for all tensors of a list whose data types must agree.
ONE_RANK = {
    "TILE",
    "DEPTH_TO_SPACE",
    "DEPTH_TO_SPACE1",
    "SPACE_TO_DEPTH",
    "SPACE_TO_DEPTH1",
    "MAX_UNPOOLING",
    "VALUE_SCALE_2D",
    "LOCAL_RESPONSE_NORMALIZATION",
}
# The pages are silent; ACTIVATION_GELU is element-wise with equal types, so in place is harmless.
ALSO_IN_PLACE = {"ACTIVATION_GELU": ["InputTensor"]}


def snake(name: str) -> str:
    """InputTensor as input_tensor."""
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return parts.lower()


def fields(entry: dict[str, Any]) -> list[list[str]]:
    """[name, kind, direction] of every field that a description has; sequences say their length."""
    counts = {field.get("count") for field in entry["fields"]}
    return [
        [snake(field["name"]), field["kind"], field["direction"]]
        for field in entry["fields"]
        if field["name"] not in counts
    ]


def levels(tables: dict[str, Any]) -> dict[str, Any]:
    """Per level and tensor: the ranks as "4-5", and the data types."""
    return {
        level: {snake(name): [cell["ranks"], " ".join(cell["types"])] for name, cell in row.items()}
        for level, row in tables.items()
    }


def same(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Tensors that must share properties."""
    found = []
    for fact in entry.get("same_fixed", entry.get("same", [])):
        of = [PROPERTIES[name] for name in fact["of"]]
        if entry["name"] in ONE_RANK and "rank" not in of:
            of.append("rank")
        found.append({"tensors": [snake(name) for name in fact["tensors"]], "of": of})
    return found


def alias(entry: dict[str, Any]) -> dict[str, list[str]]:
    """For each output, the inputs that it may lie on."""
    inputs = entry.get("alias", []) if entry["in_place"] else ALSO_IN_PLACE.get(entry["name"], [])
    outputs = [field["name"] for field in entry["fields"] if field["direction"] == "out"]
    if len(outputs) == 1:
        return {snake(outputs[0]): [snake(name) for name in inputs]} if inputs else {}
    pairs = {name: name.replace("Output", "Input", 1) for name in outputs}
    return {snake(o): [snake(i)] for o, i in pairs.items() if i in inputs}


def converted(entry: dict[str, Any]) -> dict[str, Any]:
    """One operator as the library reads it."""
    made = {
        "name": entry["name"],
        "value": entry["value"],
        "since": entry["since"],
        "family": entry["family"],
        "fields": fields(entry),
        "levels": levels(entry.get("levels_fixed", entry["levels"])),
        "same": same(entry),
        "alias": alias(entry),
    }
    if "levels_by_function" in entry:
        made["levels_by"] = {
            "function": {
                name: levels(tables) for name, tables in entry["levels_by_function"].items()
            }
        }
    return made


def made() -> str:
    """The file's text, one operator per line."""
    survey = json.loads(SURVEY.read_text(encoding="utf-8"))
    return "[\n" + ",\n".join(json.dumps(converted(entry)) for entry in survey) + "\n]\n"


if __name__ == "__main__":
    MADE.write_text(made(), encoding="utf-8")
    print(f"{MADE} is made anew.")
