"""`gv-engine train`, as far as it goes without torch; tests/learning has the rest."""

import pytest

from gv_engine.commands import main


@pytest.mark.parametrize("share", ["0", "98", "most"])
def test_a_share_is_one(share, capsys):
    with pytest.raises(SystemExit):
        main(["train", "keydoor-5x5", "--until", share])
    assert f"found '{share}', expected a share, as 0.98" in capsys.readouterr().err


def test_torch_is_named_where_it_is_missing(monkeypatch, capsys):
    monkeypatch.setattr("gv_engine.reading.extras.find_spec", lambda name: None)
    assert main(["train", "keydoor-5x5"]) == 1
    told = capsys.readouterr().err
    assert "Learning needs torch, which is not installed. This installs it here:" in told
    assert "pip install" in told
