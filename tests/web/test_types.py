"""Types of the page's JavaScript, as TypeScript reads them off its comments."""

import shutil
import subprocess

import pytest

from gv_engine.plugins.web.page import SCRIPTS
from tests.web.games import FOLDER

NPX = shutil.which("npx")
TYPESCRIPT = "typescript@5.9"
CHECK = (
    *("--package", TYPESCRIPT, "tsc", "--noEmit", "--allowJs", "--checkJs"),
    *("--target", "es2023", "--lib", "es2023,dom,dom.iterable"),
)


@pytest.mark.thorough
@pytest.mark.skipif(not NPX, reason="needs npx: apt install npm")
def test_types_of_the_page_fit():
    files = [str(FOLDER / name) for name in SCRIPTS]
    done = subprocess.run(
        [str(NPX), "--yes", *CHECK, *files], capture_output=True, text=True, check=False
    )
    if done.returncode and "error TS" not in done.stdout:
        pytest.skip(f"npx has not found {TYPESCRIPT}: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stdout
