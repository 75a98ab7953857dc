"""Environments, games and rollouts in notebooks: pictures and animations as HTML, without widgets
and without a display."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gv_engine.play.session.episode import Playable
from gv_engine.play.session.game import Game
from gv_engine.play.session.replay import Replay
from gv_engine.play.session.rollout_games import RolloutSessions
from gv_engine.play.ui.drawing.recording import Recorder
from gv_engine.rules.errors import GVEngineError, format_count
from gv_engine.rules.frame import Scene
from gv_engine.scenario.readers.map import format_reward

CELL = 24  # side of a cell in pixels
FPS = 6  # steps a second
MAX_WORLDS = 12  # worlds of a batch, and episodes of a rollout, that are shown
MAX_FRAMES = 240  # of an animation; longer episodes leave out steps
_FIGURE = (
    '<figure style="display: inline-block; margin: 0.3em"><img src="data:image/{kind};base64,'
    '{data}" alt="{alt}"><figcaption style="font-size: 85%">{caption}</figcaption></figure>'
)


def to_html(shown: Any) -> str:
    """Return an object as HTML for notebooks: pictures of an environment's worlds, an animation of
    a session or replay, or animations of a rollout's first episodes. If it cannot be drawn, return
    the reason as text."""
    try:
        if isinstance(shown, RolloutSessions):
            count = min(len(shown), MAX_WORLDS)
            return "".join(_animate(shown.open_session(n), f"Episode {n}") for n in range(count))
        if isinstance(shown, Replay):
            shown = Game.from_replay(shown, shown.find())
        if isinstance(shown, Game):
            return _animate(shown, shown.title)
        return _draw_environment(shown)
    except (GVEngineError, OSError, ValueError) as error:
        return f"<div>{html.escape(str(error))}</div>"


def _draw_environment(env: Any) -> str:
    """Return a description of an environment, and pictures of its first worlds, as HTML."""
    count, text, pictures = getattr(env, "num_worlds", 1), repr(env), ""
    if count > MAX_WORLDS:
        text += f" Worlds {MAX_WORLDS} to {count - 1} are not shown."
    if env._started:
        renderer = env._new_renderer("ansi")
        for index in range(min(count, MAX_WORLDS)):
            title = f"World {index}" if count > 1 else ""
            pictures += _make_figure(env.scenario, [renderer.frame(index)], "png", title)
    else:
        text += " Call reset() to begin."
    return f"<div>{html.escape(text)}</div>{pictures}"


def _animate(session: Game, title: str) -> str:
    """Return an animation of all steps of a session as HTML. The session's position does not
    change."""
    position, message, length = session.position, session.message, session.length
    skip = length // MAX_FRAMES + 1
    note = f", every {skip} steps" if skip > 1 else ""
    positions = [*range(0, length, skip), length]
    frames = (_get_frame(session, n) for n in positions)
    text = _make_figure(session.scenario, frames, "gif" if length else "png", title, note)
    session.seek(position)
    session.message = message
    return text


def _get_frame(session: Game, position: int) -> Any:
    session.seek(position)
    return session.frame()


def _make_figure(
    scenario: Playable, frames: Iterable[Scene], kind: str, title: str, note: str = ""
) -> str:
    """Return an HTML figure with a caption. `kind` "png" shows the last of `frames`, "gif" an
    animation of all. Each frame is drawn before the next is requested, as frames may share
    arrays."""
    with TemporaryDirectory() as folder:
        path = Path(folder, f"game.{kind}")
        with Recorder(path, scenario, cell=CELL, fps=FPS) as recorder:
            for frame in frames:
                recorder.add(frame)
        data = base64.b64encode(path.read_bytes()).decode()
    steps = format_count(frame.steps, "step") + note
    texts = [title, frame.mission, steps, f"return {format_reward(frame.total)}", frame.ending]
    caption = html.escape(" · ".join(filter(None, texts)))
    return _FIGURE.format(kind=kind, data=data, alt=html.escape(title), caption=caption)
