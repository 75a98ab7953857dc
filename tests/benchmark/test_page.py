"""The page of the benchmark, that it says what the entries say, and its interquartile means.

Entries play levels of gv_engine/plugins/minigrid, too.
"""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gv_engine.plugins.learning.benchmark import page
from gv_engine.plugins.learning.benchmark.entry import (
    SEEDS,
    TESTED,
    BenchmarkEntry,
    BenchmarkError,
    EntryPart,
    all_scenarios,
)
from gv_engine.plugins.learning.benchmark.page import interquartile_mean, middle_mean
from tests import ROOT

ENTRIES = sorted(path.parent for path in (ROOT / "benchmarks/entries").glob("*/entry.json"))
LEVEL, DIGEST = "keydoor-5x5", "ab" * 32


def test_the_page_of_the_docs_has_what_the_entries_have(tmp_path):
    """`make benchmark` writes it."""
    docs = ROOT / "docs"
    made = tmp_path / "benchmark.md"
    shutil.copy(docs / "benchmark.md", made)
    page.write_page(made, [BenchmarkEntry.read(path) for path in ENTRIES])
    assert made.read_text("utf-8") == (docs / "benchmark.md").read_text("utf-8")
    for drawing in sorted(tmp_path.glob("images/*")):
        assert drawing.read_text("utf-8") == (docs / "images" / drawing.name).read_text("utf-8")
    shown = {path.name for path in docs.glob("images/benchmark-*")}
    assert shown == {path.name for path in tmp_path.glob("images/*")}


@pytest.fixture
def entries(tmp_path: Path) -> list[BenchmarkEntry]:
    """A learner with all seeds of a level and one of another; and the shortest ways."""
    won, lost = (8,) * TESTED, (0,) * TESTED
    half = won[: TESTED // 2] + lost[: TESTED // 2]
    learner = BenchmarkEntry(tmp_path / "learner", "Learner", "it learns").create()
    curve = ((1000, 0.0), (3000, 1.0))
    for seed in range(SEEDS):
        learner.append(
            EntryPart(
                LEVEL, seed, DIGEST, won if seed else half, TESTED, True, lost, 4000, 2.0, curve
            )
        )
    learner.append(EntryPart("memory-9x9", 4, DIGEST, half[50:] + lost[:50], 7, False))
    solver = BenchmarkEntry(tmp_path / "solver", "Shortest", "", "solver").create()
    ways = (4,) * (TESTED - 50) + lost[:50]
    solver.append(EntryPart(LEVEL, 0, DIGEST, ways))
    return [learner, solver]


def row(text: str, name: str) -> list[list[str]]:
    """The cells of each row of a scenario."""
    lines = [line for line in text.splitlines() if re.match(rf"\| (\*\*)?`{name}`", line)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_tables_have_success_ways_and_what_it_took(entries):
    text = "\n\n".join(page.Comparison(entries).sections("images"))
    assert row(text, LEVEL) == [
        [f"`{LEVEL}`", "200", "4.0 (150)", "100.0 (91.7–100.0)", "0.0", "4,000", "2.0", "2.00"]
    ]
    assert "images/benchmark-rooms.svg" in text
    assert "benchmark-gallery" not in text


def test_what_is_missing_is_said(entries):
    text = "\n\n".join(page.Comparison(entries).sections("images"))
    cells = ["**`memory-9x9`** *", "7", "–", "25.0, 1 of 10", "–", "0", "0.0", "–"]
    assert row(text, "memory-9x9") == [cells]
    assert row(text, "keydoor-9x9") == [["`keydoor-9x9`"] + ["–"] * 7]
    count = len(all_scenarios())
    assert f"11 of {10 * count:,} parts are finished." in text
    assert f"| mean success, % | 1 of all {count} scenarios |" in text


def test_success_on_new_layouts_has_a_column(tmp_path):
    entry = BenchmarkEntry(tmp_path / "own", "Own").create()
    for seed in range(2):
        entry.append(
            EntryPart(LEVEL, seed, DIGEST, (8,) * TESTED, layout_success=0.5 if seed else None)
        )
    text = "\n\n".join(page.Comparison([entry]).sections("images"))
    assert "| Own % | new layouts % |" in text
    assert row(text, LEVEL)[0][3:5] == ["100.0, 2 of 10", "50.0, 1 of 10"]
    assert row(text, "keydoor-9x9")[0][3:5] == ["–", "–"]


def test_an_entry_is_compared_over_what_it_is_meant_for(entries, tmp_path):
    other = BenchmarkEntry(tmp_path / "other", "Other", scenarios=(LEVEL, "sokoban")).create()
    for seed in range(SEEDS):
        other.append(EntryPart(LEVEL, seed, DIGEST, (8,) * TESTED))
    text = "\n\n".join(page.Comparison([*entries, other]).sections("images"))
    count = len(all_scenarios())
    assert f"21 of {10 * (count + 2):,} parts are finished." in text
    head, _, *means = re.findall(r"^\|.+(?=\n)", text.partition("\nIn the tables")[0], re.MULTILINE)
    assert head.endswith(f"| 1 of all {count} scenarios | 1 of 2 scenarios of Other |")
    assert means[0] == "| Learner | 100.0 (91.7–100.0) | 100.0 (91.7–100.0) |"
    assert means[2] == "| Other | – | 100.0 |"
    rooms, rest = text.split("### Rooms")[1].split("### The gallery")
    one, both = re.findall(r"^\|  \|.+", rooms, re.MULTILINE)
    assert "Other %" in both
    assert "Other" not in one
    assert "Other" not in rest


def test_who_has_learned_the_test_is_marked_and_nobody_else(entries, tmp_path):
    other = BenchmarkEntry(tmp_path / "other", "Other").create()
    other.append(EntryPart(LEVEL, 0, DIGEST, (8,) * TESTED, held_out=False))
    (told,) = row("\n\n".join(page.Comparison([*entries, other]).sections("images")), LEVEL)
    assert told[0] == f"`{LEVEL}`"
    assert told[3:5] == ["100.0 (91.7–100.0)", "0.0"]
    assert told[8:] == ["100.0, 1 of 10 *"]


def test_names_and_texts_of_entries_are_shown_as_they_are(entries):
    name, about = "<script>|x|", "<img src=x> [a](b), `<b>`, and ```<i>`"
    shown = [replace(entries[0], name=name, about=about), entries[1]]
    text = "\n\n".join(page.Comparison(shown).sections("images"))
    said = r"- **\<script\>\|x\|**: \<img src\=x\> \[a\](b), `<b>`, and \`\`\`\<i\>\`"
    assert text.startswith(f"{said}\n")
    assert r"| \<script\>\|x\|, greedy |" in text
    assert not re.search(r"(?<!\\)<(?!b>`)", text)


def test_a_page_has_marks(entries, tmp_path):
    file = tmp_path / "page.md"
    file.write_text(f"# Mine\n\n{page.BEGIN}outdated\n{page.END}\nand more\n")
    page.write_page(file, entries)
    text = file.read_text("utf-8")
    assert text.startswith(f"# Mine\n\n{page.BEGIN}\n- **Learner**: it learns\n")
    assert text.endswith(f"\n\n{page.END}\nand more\n")
    assert "outdated" not in text
    drawing = (tmp_path / "images/benchmark-rooms.svg").read_text("utf-8")
    assert "3,000 steps</text>" in drawing
    assert "150,0" in drawing  # ends to the right, at all
    new = tmp_path / "deep/new.md"
    page.write_page(new, entries)
    assert new.read_text("utf-8") == text[text.index(page.BEGIN) :].removesuffix("\nand more\n")
    assert (tmp_path / "deep/images/benchmark-rooms.svg").exists()
    file.write_text("# Mine\n")
    with pytest.raises(BenchmarkError, match="has no place for the tables: add the lines"):
        page.write_page(file, entries)


# ---- interquartile means and their intervals ----------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5], 0.5),
        ([0, 0.25, 0.75], 1 / 3),  # a quarter of three is none
        ([1, 0, 0.5, 0.25], 0.375),
        ([0, 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1, 1], (0.1 + 0.2 + 0.3 + 0.4 + 0.5 + 0.6) / 6),
    ],
)
def test_a_quarter_is_left_out_at_both_ends(values, expected):
    assert middle_mean(np.array(values, float)) == pytest.approx(expected)
    assert interquartile_mean([values]).mean == pytest.approx(expected)


def test_seeds_are_drawn_within_their_scenario():
    """Whichever seeds are drawn, each scenario keeps what all of its seeds have."""
    assert interquartile_mean([[0.0] * 10, [1.0] * 10]) == (0.5, 0.5, 0.5)
    together = interquartile_mean([[0.0] * 10 + [1.0] * 10])
    assert together.low < 0.3
    assert together.high > 0.7


def test_the_interval_has_as_often_the_mean_in_it_as_it_says():
    rng = np.random.default_rng(3)
    found = [interquartile_mean([rng.normal(size=20).tolist()]) for _ in range(200)]
    held = sum(mean.low < 0 < mean.high for mean in found)
    assert 0.85 < held / 200 < 0.99


def test_more_seeds_are_believed_more():
    rng = np.random.default_rng(0)
    widths = [
        mean.high - mean.low
        for number in (5, 20, 80)
        for mean in [interquartile_mean([rng.random(number).tolist()])]
    ]
    assert widths == sorted(widths, reverse=True)
    assert interquartile_mean([[0.2, 0.4, 0.9]]) == interquartile_mean([[0.2, 0.4, 0.9]])
