"""A hook of mkdocs: what the site has beside the files in docs/.

Links in docs/ are written for someone who reads the files where they lie: `../CHANGELOG.md`. On the
site, the repository's files stand beside the pages: that one becomes a page too, others are copied.
`<!-- source: examples/x.py -->` and a link on the line before it are replaced by that file's text,
folded away; `<!-- made: name -->` by what tools/pages.py makes. An entry of the navigation that
reads `operators/*-family.md` stands for all pages that it matches.
"""

from __future__ import annotations

import posixpath
import re
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]  # a hook is loaded by its path alone

import pages  # noqa: E402

WIDE = ("performance.md",)  # their tables need the room of the table of contents
LINK = re.compile(r"(\]\()([^)\s#]+)")
CODE = re.compile(r"(?<=<code>)[^<]+")
OPTION = re.compile(r"(?<!\S)--?[a-z][\w-]*")
CELL = re.compile(r"<td.*?</td>", re.S)
WORD_END = re.compile(
    r"(?:(?<=[a-z\d]_)(?=[a-z\d])|(?<=[A-Z]_)(?=[A-Z\d])|(?<=[a-z]{3})(?=[A-Z][a-z]{2}))(?![^<]*>)"
)
SOURCE = re.compile(r"(?:^\[\S+\]\(\S+\)\n)?^<!-- source: (\S+) -->$", re.M)


def on_config(config: Any) -> Any:
    """The navigation with every page that is made."""
    config.nav = _expanded(config.nav, list(pages.family_pages()))
    return config


def _expanded(entry: Any, made: list[str]) -> Any:
    if isinstance(entry, dict):
        return {title: _expanded(inside, made) for title, inside in entry.items()}
    if isinstance(entry, list):
        found: list[Any] = []
        for item in entry:
            is_pattern = isinstance(item, str) and "*" in item
            found += (
                [p for p in made if fnmatch(p, item)] if is_pattern else [_expanded(item, made)]
            )
        return found
    return entry


def outside(page: str, link: str) -> str | None:
    """The path from the repository's root of a link that leads out of docs/, else None."""
    if "://" in link or link.startswith(("/", "mailto:")):
        return None
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link))
    return None if path == "docs" or path.startswith("docs/") else path


def listed(entry: Any) -> list[str]:
    """The pages of a part of the navigation."""
    if isinstance(entry, dict):
        entry = list(entry.values())
    return [page for part in entry for page in listed(part)] if isinstance(entry, list) else [entry]


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages and pictures that are made, and what pages link to outside docs/."""
    for place, text in (pages.family_pages() | pages.example_pictures()).items():
        files.append(File.generated(config, place, content=text))
    wanted = {page for page in listed(config.nav) if files.get_file_from_path(page) is None}
    wanted = {page for page in wanted if (ROOT / page).is_file()}
    for page in files.documentation_pages():
        for _, link in LINK.findall(page.content_string):
            path = outside(page.src_uri, link)
            if path and (ROOT / path).is_file():
                wanted.add(path)
    for path in sorted(wanted):
        files.append(File(path, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links as they are on the site, and the sources that a page shows."""
    if page.file.src_uri in WIDE:
        page.meta["hide"] = ["toc"]
    here = posixpath.dirname(page.file.src_uri)
    from_root = page.file.src_dir == str(ROOT)

    def moved(match: re.Match[str]) -> str:
        link = match[2]
        if from_root and link.startswith("docs/"):
            return match[1] + link.removeprefix("docs/")
        path = None if from_root else outside(page.file.src_uri, link)
        return match[1] + (posixpath.relpath(path, here) if path else link)

    return SOURCE.sub(shown, LINK.sub(moved, pages.filled(page.file.src_uri, markdown)))


def on_page_content(html: str, **_: Any) -> str:
    """Long names in tables may go on in the next line where a word of them ends, options not."""
    html = CELL.sub(lambda cell: WORD_END.sub("<wbr>", cell[0]), html)
    return CODE.sub(lambda code: OPTION.sub(r"<span class='option'>\g<0></span>", code[0]), html)


def shown(match: re.Match[str]) -> str:
    """A file of the repository as a folded block of code."""
    text = (ROOT / match[1]).read_text(encoding="utf-8")
    lines = [f'??? example "{match[1]}"', "", "    ```python"]
    lines += [f"    {line}".rstrip() for line in text.splitlines()]
    return "\n".join([*lines, "    ```", ""])
