"""Names of the built-in grids, so that what compiles need not compile all; and ways to win those of
several agents.

MiniGrid's are in neither: `tests/systems/test_minigrid.py` replays some of them.
"""

from __future__ import annotations

from gv_engine.scenario.library import (
    GALLERY,
    list_built_in_grids,
    list_plugin_grids,
)

OF_GALLERY = [
    name for name, level in list_built_in_grids().items() if level.file.is_relative_to(GALLERY)
]
"""Those of one idea each; `tests/domains/test_gallery.py` wins them."""
GRID_NAMES = sorted(list_built_in_grids().keys() - list_plugin_grids().keys())
"""All but MiniGrid's and BabyAI's."""
NOT_OF_GALLERY = [name for name in GRID_NAMES if name not in OF_GALLERY]

KEYS = {
    **{"f": "MOVE_FORWARD", "b": "MOVE_BACKWARD", "l": "MOVE_LEFT", "r": "MOVE_RIGHT"},
    **{"L": "TURN_LEFT", "R": "TURN_RIGHT"},
    **{"a": "ACTUATE", ".": "ACTUATE", "p": "PICK_N_DROP", "g": "LOAD", "i": "INTERACT"},
}
"""What agents do, a character a step; a dot where they wait, and there is nothing to actuate."""
WINS = {
    "hold-plates": ("fff....fffff", "ff.ffff...ff"),
    "hand-over": ("fpfrp........", ".....fplLaffl"),
    "hunt": (".....", "fffff", "....."),
    "commons": ("fffrrrr...", "..rfffrrrr"),
    "tag": (
        "fffrrffllfffrr..........",
        "bbbbll........fffrrf....",
        "llrrfff.............ffff",
    ),
    "race": ("..........", "fffffflffr", ".........."),
    "ball": ("rffffffff", ".........", ".........", "........."),
    "foraging-8x8-2p-3f": ("rrgffflll...gbbbr......g", ".........frrg....bbbbbrg"),
    "foraging-8x8-2p-2f-coop": ("ffr....gr...g", "...rrrrg.bbrg"),
    "foraging-10x10-4p-3f-2s": (
        "....................frrrr........g",
        ".........bbbb......g.....fffrr...g",
        "ffll....g....blllllg..............",
        "....ffffg.....................fflg",
    ),
    "pogema-8x8-4a": ("rbbrbbblbbr", "l..........", "..llfffrffl", ".rrbbrb...."),
    "pogema-8x8-4a-nothing": ("rbbrbbblbbr", "l..........", "frfrfffllll", ".rrbbrb...."),
    "pogema-8x8-4a-restart": ("rbbrbbblbbr", "l..........", "frfrfffllll", ".rrbbrb...."),
    "pogema-16x16-8a-soft": (
        "fflfffrfrffffffllllll",
        "lffrr................",
        "lf...................",
        "lb...................",
        "brrrbrr..............",
        "bbbl.................",
        "rffr.................",
        "rrbbbbrbbbbbrb.......",
    ),
    "pogema-benchmark-mapf": ("rlbrrrr", "rffrrr.", "lbl....", "rrf.bf."),
    "pogema-benchmark-lmapf": ("rbrrrrrf", "ffrr.rrl", "b.lllrff", ".rfrlffr"),
    "kitchen-alcove": (
        "rrillfirrillfiiblb.................flfir",
        "lflirfbfrfillifibifrrfiiiiiiiiiiiiibrrbi",
    ),
    "kitchen-hatch": (
        "firifibrifirifibrifbbliriffirifibri........",
        "....flifiblifilifiiblifribbliffiiiiiiiibbri",
    ),
    "kitchen-island": (
        "lllblifrfilblifrfilblifrfiirrrlrrrfibblllbiiiiiiiiirbrrfri",
        "rrrbilllbirrrbilllbirrrbilllbiiffrrlrrfibblllbrlrlfrrfflll",
    ),
    "kitchen-garden": ("llirrfirrfillfiilrrrrilllfibbrrri", "rbifflrbrifrfilllbblbilirbilirbii"),
    "kitchen-brigade": (
        "lirrfilllrlfllllllllllllrbrbfbfbbfbbfirrrrrrrrrrbbbbrib",
        "rilllbflfbflfirllrbrfffrrrfbfl.frbrbbbbrrrrrrrlrillllrl",
        "fffbflflibfbfffffffffffffrbfrfiilbbliffrrrrrr.lrrfiirbi",
        "fffb.ffrrrilllllllllllfirlfi.flfibbriffllllllllf..llbir",
    ),
    "warehouse-tiny-2ag": ("RRffffffffpRfRfffffffffLf", "........................."),
    "warehouse-tiny-4ag": ("...............", "RffpRRfLfffffRf", *["..............."] * 2),
    "warehouse-small-4ag": ("............", "............", "LfpLfLffffRf", "............"),
}
"""By name, what each does until all have won; of warehouses, with a quota of 1."""
