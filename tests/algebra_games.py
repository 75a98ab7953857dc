"""Games of algebra, for tests of all that shows them."""

from gv_engine.play.session.catalogue import load_playable
from gv_engine.play.session.session import Session
from gv_engine.scenario.documents.loading import load_scenario

EASY = "mathy-poly-simplify-easy"
LONG = {
    "domain": "algebra",
    "environment": "PolySimplify",
    "name": "long",
    "success_function": "solve",
}


def game_of(name: str = EASY, seed: int = 1) -> Session:
    return Session(load_playable(name), seed)


def problem(text: str, **more: int) -> Session:
    return Session(load_scenario({**LONG, "problem": text, **more}), 0)  # type: ignore[arg-type]  # as it plays
