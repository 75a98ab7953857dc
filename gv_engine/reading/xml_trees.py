"""XML files as trees, read within bounds."""

from __future__ import annotations

from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

_DEEPEST = 50


def parse_xml(raw: bytes) -> Element:
    """Return the root of an XML file.

    Raises:
        ValueError: it is damaged, nested deeply, or declares something, which could make a short
            file a huge one: entities, and values that attributes have by default.
    """
    builder, parser, depth = TreeBuilder(), expat.ParserCreate(), 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise ValueError(f"nested deeper than {_DEEPEST} levels")
        builder.start(name, attributes)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(name)

    def check(name: str, system: str | None, public: str | None, declares: int) -> None:
        if declares:
            raise ValueError(
                "its DOCTYPE declares entities or attributes; remove what is in its brackets"
            )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = builder.data, check
    try:
        parser.Parse(raw, True)
    except expat.ExpatError as error:
        raise ValueError(f"no XML: {error}") from None
    except LookupError as error:  # the name of an encoding
        raise ValueError(f"no XML: {error}") from None
    return builder.close()
