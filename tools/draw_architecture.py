"""Script that draws docs/architecture.svg: the rooms of the package and the imports between them, read from the source.

    python tools/draw_architecture.py

Left, the rooms by height: each stands above all that it imports from. An arrow is left out where a chain of others
leads. Right, all imports between rooms, counted in pairs of files. The names of the rooms and their order are those of
the contract `rooms` in pyproject.toml; all else comes from the imports, those inside functions and for typing included.
The same source gives the same picture to the byte, and a test holds the committed one to it.
"""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "pytest_audioretrieval"
PICTURE = ROOT / "docs/architecture.svg"

#: What a module imports, by the module's name.
Graph = Mapping[str, set[str]]
#: Pairs of importing and imported room, with the number of pairs of files.
Counts = Mapping[tuple[str, str], int]

WIDE, HIGH, GAP, STEP, LEFT, TOP = 108, 30, 16, 62, 24, 56
CELL = 30
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1b2733}"
    ".head{font-size:15px;font-weight:600}"
    ".room{fill:#e8f0f8;stroke:#4a7aa8;stroke-width:1.2}.arrow{fill:none;stroke:#7d93a8;stroke-width:1.2}"
    ".none{fill:#f4f6f8}.self{fill:#dfe5ea}.some{fill:#4a7aa8}"
)


def modules_of(package: Path) -> dict[str, Path]:
    """Return the files of a package by the name they are imported by."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        name = ".".join(path.relative_to(package.parent).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def imports_of(package: Path) -> dict[str, set[str]]:
    """Return for each module of a package the modules of the same package that it imports, wherever in the file."""
    modules = modules_of(package)
    return {name: set(_imported(path, modules)) - {name} for name, path in modules.items()}


def _imported(path: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module in modules and not node.level:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield submodule if submodule in modules else node.module


def rooms_in_order() -> list[str]:
    """Return the names of the rooms, importers first, as pyproject.toml lists them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["id"] == "rooms")
    return [room.strip() for layer in layers for room in layer.split("|")]


def counted(graph: Graph, rooms: Sequence[str]) -> Counter[tuple[str, str]]:
    """Return how many pairs of files import across each pair of rooms."""
    found: Counter[tuple[str, str]] = Counter()
    for importer, imported in graph.items():
        for module in imported:
            pair = _room(importer), _room(module)
            if pair[0] != pair[1] and set(pair) <= set(rooms):
                found[pair] += 1
    return found


def _room(module: str) -> str:
    return module.partition(".")[2].partition(".")[0]


def heights(rooms: Sequence[str], counts: Counts) -> dict[str, int]:
    """Return the floor of each room: above all it imports from, and right below the lowest room that imports it."""
    found: dict[str, int] = {}
    for place, room in reversed(list(enumerate(rooms))):
        below = [found[other] for other in rooms[place + 1 :] if (room, other) in counts]
        found[room] = max(below, default=-1) + 1
    for place, room in enumerate(rooms):
        above = [found[other] for other in rooms[:place] if (other, room) in counts]
        found[room] = min(above, default=found[room] + 1) - 1
    return found


def direct(rooms: Sequence[str], counts: Counts) -> list[tuple[str, str]]:
    """Return the imports between rooms that do not follow from a chain of others."""
    below = {
        room: {other for other in rooms[place + 1 :] if (room, other) in counts} for place, room in enumerate(rooms)
    }
    reached: dict[str, set[str]] = {}
    for room in reversed(rooms):
        reached[room] = below[room].union(*(reached[other] for other in below[room]))
    return [
        (room, other)
        for room in rooms
        for other in rooms
        if other in below[room] and not any(other in reached[between] for between in below[room])
    ]


def drawn(rooms: Sequence[str], counts: Counts) -> str:
    """Return the picture as SVG."""
    floors = heights(rooms, counts)
    places = _places(rooms, floors)
    width = max(x for x, _ in places.values()) + WIDE + LEFT
    start = width + 110
    height = max(TOP + (max(floors.values()) + 1) * STEP, TOP + 110 + len(rooms) * CELL)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {start + len(rooms) * CELL + LEFT} {height}">',
        f"<style>{STYLE}</style>",
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        '<path d="M0,1 L7,4 L0,7 z" fill="#7d93a8"/></marker></defs>',
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text class="head" x="{LEFT}" y="28">Rooms, and what they import from</text>',
        *(_arrow(places[one], places[other]) for one, other in direct(rooms, counts)),
        *(_box(room, *places[room]) for room in rooms),
        f'<text class="head" x="{start - 90}" y="28">Imports between rooms, in pairs of files</text>',
        *_table(rooms, counts, start),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _places(rooms: Sequence[str], floors: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Return the upper left corner of each room's box; the floors are centred."""
    top = max(floors.values())
    rows = [[room for room in rooms if floors[room] == floor] for floor in range(top + 1)]
    widest = max(len(row) for row in rows)
    found = {}
    for floor, row in enumerate(rows):
        indent = (widest - len(row)) * (WIDE + GAP) // 2
        for number, room in enumerate(row):
            found[room] = LEFT + indent + number * (WIDE + GAP), TOP + (top - floor) * STEP
    return found


def _box(room: str, x: int, y: int) -> str:
    text = f'<text x="{x + WIDE // 2}" y="{y + 20}" text-anchor="middle">{escape(room)}</text>'
    return f'<rect class="room" x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="5"/>{text}'


def _arrow(start: tuple[int, int], end: tuple[int, int]) -> str:
    """Return a line that goes straight down past other floors, and turns in the last gap."""
    x, to_x, to_y = start[0] + WIDE // 2, end[0] + WIDE // 2, end[1]
    turn = to_y - (STEP - HIGH)
    middle = (turn + to_y) // 2
    path = f"M{x},{start[1] + HIGH} V{turn} C{x},{middle} {to_x},{middle} {to_x},{to_y - 2}"
    return f'<path class="arrow" d="{path}" marker-end="url(#tip)"/>'


def _table(rooms: Sequence[str], counts: Counts, start: int) -> Iterator[str]:
    """Yield the cells of the table: a row for each importing room, a column for each imported one."""
    top = TOP + 100
    for number, room in enumerate(rooms):
        x, y = start + number * CELL + CELL // 2, top + number * CELL + 20
        yield f'<text x="{start - 10}" y="{y}" text-anchor="end">{escape(room)}</text>'
        yield f'<text x="{x + 4}" y="{top - 8}" transform="rotate(-60 {x + 4} {top - 8})">{escape(room)}</text>'
    for row, room in enumerate(rooms):
        for column, other in enumerate(rooms):
            yield _cell(start + column * CELL, top + row * CELL, counts.get((room, other), 0), room == other)


def _cell(x: int, y: int, count: int, same: bool) -> str:
    kind = "self" if same else "some" if count else "none"
    shade = f' fill-opacity="{min(0.15 + count / 60, 0.75):.2f}"' if count else ""
    box = f'<rect class="{kind}" x="{x}" y="{y}" width="{CELL - 2}" height="{CELL - 2}"{shade}/>'
    text = f'<text x="{x + CELL // 2 - 1}" y="{y + 19}" text-anchor="middle">{count}</text>' if count else ""
    return box + text


def picture() -> str:
    """Return the picture of the package as it stands."""
    rooms = rooms_in_order()
    return drawn(rooms, counted(imports_of(ROOT / PACKAGE), rooms))


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
