"""Objects of other levels, added to an edited level with their rules, actions and files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

from components.core import FLOOR
from components.objects import WALL
from gv_engine.play.editor.document import EditorDocument, check_domain
from gv_engine.play.editor.rules import RULE_PARTS, Rule, RulePart
from gv_engine.play.editor.text_buffer import EditError, TextBuffer
from gv_engine.play.editor.vocabulary import iter_values
from gv_engine.play.session.sprite_paths import find_sprite, sprite_sources
from gv_engine.rules.component import column_name, to_snake_case
from gv_engine.rules.functions import find_functions, names_of
from gv_engine.rules.geometry import ACTIONS, TURN_RIGHT, USUAL_ACTIONS
from gv_engine.rules.objects import COLORS, USUAL_COLORS, ObjectType
from gv_engine.scenario.documents.loading import find_scenario_ref
from gv_engine.scenario.documents.trust import DEFAULT_TRUST, Trust, is_file_reference
from gv_engine.scenario.library import FOLDER_FILE
from gv_engine.scenario.storage.files import path_exists, read_bytes, write_file
from gv_engine.world.simulation import make_level

_COMMON_COLUMNS = {"agent", "position", "kind", "color", "condition", "solid", "opaque"}
"""Components that so many rules use that they do not tell which objects a rule is about."""
_IDENTIFYING_SUFFIXES = "_type", "_function", "_functions"
_LINE_PREFIX = re.compile(r"^line \d+: ")
_MAX_BYTES = 2**20  # of a copied file


class LevelObject(NamedTuple):
    """Object type of a level with the rules about it, and the other types that these rules need.

    Attributes:
        name: name of the type.
        types: names of the types that its rules are about, its own first.
        rules: rules of these types, in the order of the file.
    """

    name: str
    types: tuple[str, ...]
    rules: tuple[Rule, ...]


class OtherLevel:
    """Level whose objects can be added to another one.

    Args:
        source: name or file, as for `load_scenario`.
        trust: Python code that the level may run.

    Attributes:
        title: name of the level.
        document: the level.
        rules: all its rules, in the order of the file.

    Raises:
        ScenarioError: there is no such scenario.
        EditError: the scenario has errors, or is of another domain.
        OSError: the file cannot be read.
    """

    def __init__(self, source: str, trust: Trust = DEFAULT_TRUST) -> None:
        ref = find_scenario_ref(source)
        buffer = TextBuffer.load(ref.file)
        check_domain(buffer.text, ref)
        self.title = ref.file.parent.name if ref.file.name == FOLDER_FILE else ref.file.stem
        self.document = EditorDocument(buffer, ref.variant, trust)
        if self.document.scenario is None:
            raise EditError(f"{source} has errors: {self.document.faults[0].message}")
        self.rules: list[Rule] = []
        self._rule_types: list[list[str]] = []  # types that a rule is about
        self._required_types: list[list[str]] = []  # types that are added with a rule
        for part in RULE_PARTS:
            rules = self.document.rules.rules(part)
            types = [_find_types(rule, self.document) for rule in rules]
            self.rules += rules
            self._rule_types += types
            if _combines_all(self.document, part):  # its rules are added together
                self._required_types += [[*chain.from_iterable(types)]] * len(rules)
            else:
                self._required_types += types

    @cached_property
    def objects(self) -> list[LevelObject]:
        """Objects that the level declares, or contains and has rules for."""
        document = self.document
        vocab, declared = document.vocabulary, document.values.get("objects") or {}
        assert document.scenario
        present = {*make_level(document.scenario, 0).cells()[..., 0].flat}
        used = {vocab.types[kind].name for kind in present} | {*declared}
        used |= {*_iter_texts({**document.values, "description": "", "name": ""})}
        names = [vocab.types[kind].name for kind in vocab.usual if kind not in (FLOOR, WALL)]
        objects = [self._collect_object(name) for name in names if name in used]
        return [each for each in objects if each.rules or each.name in declared]

    def _collect_object(self, name: str) -> LevelObject:
        """Return an object type of the other level with the rules about it, and all types that
        these rules need. Of rules about such a further type, only those that change it are
        included."""
        types, indices = [name], set[int]()
        for type_name in types:  # grows during the loop
            for index, rule in enumerate(self.rules):
                changed_type = rule.arguments.get("object_type", type_name)
                is_about_type = type_name in self._rule_types[index]
                if is_about_type and type_name in (name, changed_type):
                    indices.add(index)
                    required = dict.fromkeys(self._required_types[index])
                    types += [other for other in required if other not in types]
        return LevelObject(name, tuple(types), tuple(self.rules[k] for k in sorted(indices)))


def _find_types(rule: Rule, document: EditorDocument) -> list[str]:
    """Return the names of the object types that a rule mentions in its arguments. If it mentions
    none, return the types that have a component used by the rule's code."""
    vocab = document.vocabulary
    types = [vocab.types[kind] for kind in vocab.usual]
    texts = [text.partition(".")[0] for text in _iter_texts(rule.arguments)]
    if named := [object_type.name for object_type in types if object_type.name in texts]:
        return named
    functions = rule.system.functions if rule.system else ()
    used_names = [names_of(function) for function in functions]
    found = []
    for object_type in types:
        columns = {*map(column_name, object_type.component_classes)} - _COMMON_COLUMNS
        if any(column in names for column in columns for names in used_names):
            found.append(object_type.name)
    return found


def _combines_all(document: EditorDocument, part: RulePart) -> bool:
    return document.rules.combination(part).startswith("all")


def _iter_texts(value: Any) -> Iterator[str]:
    return (part for part in iter_values(value) if isinstance(part, str))


class Addition:
    """Objects of another level, prepared to be added to an edited level.

    Args:
        work: edited level.
        level: level with the objects.
        objects: the objects.

    Attributes:
        names: names of the object types in the edited level, by their names in the other level.
        files: content of the files that `apply` writes, by path.

    Raises:
        EditError: a name or a file is taken and cannot be changed, or a rule has a random value.
    """

    def __init__(
        self, work: EditorDocument, level: OtherLevel, objects: Sequence[LevelObject]
    ) -> None:
        self._work, self._level = work, level
        self._folder = work.ref.file.parent
        self._existing: dict[str, Any] = work.values.get("objects") or {}
        declared: dict[str, Any] = level.document.values.get("objects") or {}
        self.files: dict[Path, bytes] = {}
        self.names: dict[str, str] = {}
        for name in dict.fromkeys(name for each in objects for name in each.types):
            self.names[name] = self._choose_name(name, declared)
        self._types: dict[str, Any] = {}  # declarations of new types
        for name, new_name in self.names.items():
            sprite = self._add_sprites(name, name in declared)
            if name in declared and new_name not in self._existing:
                self._types[new_name] = self._convert(declared[name]) or {}
                if sprite != to_snake_case(new_name):
                    self._types[new_name]["sprite"] = sprite
        rules = [rule for rule in level.rules if any(rule in each.rules for each in objects)]
        self._rules = [(rule, self._convert(rule.entry)) for rule in rules]

    def _choose_name(self, name: str, declared: Mapping[str, Any]) -> str:
        """Return a name for the copied object type in the edited level. It is `name`, or a new one
        if the edited level has a different type of that name. `declared` are the other level's
        types."""
        vocab = self._work.vocabulary
        taken = {vocab.types[kind].name: vocab.types[kind] for kind in vocab.usual}
        if name in declared:
            existing = {key: _without_sprite(entry) for key, entry in self._existing.items()}
            entry = _without_sprite(declared[name])
            names = chain([name], (f"{name}{number}" for number in count(2)))
            return next(new for new in names if new not in taken or existing.get(new) == entry)
        if name not in taken:
            return name
        object_type = self._level.document.vocabulary.types[name]
        if _component_names(object_type) != _component_names(taken[name]):
            raise EditError(f"This level has another {name}; rename one of them in its Python file")
        return name

    def _add_sprites(self, name: str, can_rename: bool) -> str:
        """Copy the sprite files of the other level's type `name`, and return the sprite's name in
        the edited level. If files of these names exist, the copies get a prefix, provided that
        `can_rename` is True."""
        assert self._level.document.scenario
        kind = self._level.document.vocabulary.types[name]
        sources = sprite_sources(self._level.document.scenario)
        sprites = dict.fromkeys(kind.sprite_of(state) for state in range(kind.num_states))
        files = {f"{sprite}.svg": find_sprite(sprite, sources) for sprite in sprites}
        own = {name: file for name, file in files.items() if isinstance(file, Path)}
        return self._add_files(own, can_rename) + kind.sprite

    def _add_files(self, files: Mapping[str, Path], can_rename: bool = True) -> str:
        """Plan copies of files from the other level into the edited one. `files` maps the name of
        each copy to its original. Return the prefix of all copies: "" or, if names are taken and
        `can_rename`, the other level's title. Raise EditError if no name is free."""
        prefixes = ["", f"{self._level.title.replace('-', '_')}_"] if can_rename else [""]
        for prefix in prefixes:
            copies = {
                self._folder / f"{prefix}{name}": _read_file(file) for name, file in files.items()
            }
            existing = {path: _read_file(path) for path in copies if path_exists(path)}
            known = {**self.files, **existing}
            if all(known.get(path, content) == content for path, content in copies.items()):
                self.files |= {path: copies[path] for path in copies if path not in existing}
                return prefix
        names = ", ".join(files)
        raise EditError(f"Beside this level are other files of the name {names}; rename them")

    def _convert(self, value: Any) -> Any:
        """Convert a part of the other level's YAML for the edited level: object types get their new
        names. Python files that it refers to are copied too."""
        if isinstance(value, list):
            return [self._convert(part) for part in value]
        if isinstance(value, dict):
            return {
                self._convert(key): part if key == "says" else self._convert(part)
                for key, part in value.items()
            }
        if not isinstance(value, str):
            return value
        if "$" in value:
            raise EditError(f"{self._level.title} draws {value} at random, which is not copied")
        module, colon, name = value.rpartition(":")
        if colon and is_file_reference(module):
            file = (self._level.document.ref.file.parent / module).resolve()
            if re.search(rb"^\s*(from|import)\s+\.", _read_file(file), re.MULTILINE):
                raise EditError(f"{file.name} imports files beside it, which are not copied")
            return f"./{self._add_files({file.name: file})}{file.name}:{name}"
        name, dot, state = value.partition(".")
        return f"{self.names.get(name, name)}{dot}{state}"

    @property
    def summary(self) -> str:
        """Sentences about the added objects, and about types that got a new name."""
        text = f"Added {', '.join(self.names.values())} with all rules; undo takes them out"
        for name, new_name in self.names.items():
            if name != new_name:
                text += f". Another {name} is here already, so this one is {new_name}"
        return text

    def apply(self) -> str:
        """Write the copied files, and return the text of the edited level with the objects added.
        The document itself does not change.

        Raises:
            EditError: the level would have an error; then no file is left behind.
            OSError: a file cannot be written.
        """
        work = self._work.copy(self._work.buffer.text)
        try:
            for file, content in self.files.items():
                write_file(file, content, follow_links=False)
            for name, entry in self._types.items():
                work.set_value(("objects", name), entry)
            self._allow_types(work)
            self._add_actions(work)
            for part in RULE_PARTS:
                self._add_rules(work, part)
            old_messages = {_LINE_PREFIX.sub("", fault.message) for fault in self._work.faults}
            for fault in work.faults:
                if _LINE_PREFIX.sub("", fault.message) not in old_messages:
                    raise EditError(f"{', '.join(self.names)} cannot be added: {fault.message}")
        except Exception:
            for file in self.files:
                file.unlink(missing_ok=True)
            raise
        return work.buffer.text

    def _allow_types(self, work: EditorDocument) -> None:
        """Allow the added object types in the edited level: add them to its lists in `state_space`
        and `observation_space`, if any. If a type has colours, the other level's colours are
        allowed too."""
        types = self._level.document.vocabulary.types
        is_colored = any(types[name].colored for name in self.names)
        usual = [COLORS[color] for color in USUAL_COLORS]
        for space in ("state_space", "observation_space"):
            allowed = work.values.get(space) or {}
            others = self._level.document.values.get(space) or {}
            lists = {
                "objects": (allowed.get("objects"), self.names.values()),
                "colors": (allowed.get("colors", usual), others.get("colors", usual) * is_colored),
            }
            for key, (old, wanted) in lists.items():
                new = [name for name in wanted if old and name not in old]
                if new:
                    work.set_value((space, key), [*old, *new])

    def _add_actions(self, work: EditorDocument) -> None:
        """Add the actions that the rules use, except moves, to the actions of `work`."""
        functions = [rule.system.functions for rule, _ in self._rules if rule.system]
        uses = find_functions(chain.from_iterable(functions))
        used = {getattr(value, "name", name) for pairs in uses.values() for name, value in pairs}
        used |= {text for rule, _ in self._rules for text in _iter_texts(rule.arguments)}
        default = [ACTIONS[action] for action in USUAL_ACTIONS]
        old_actions = work.values.get("action_space", default)
        moves = ACTIONS[: TURN_RIGHT + 1]
        missing = used - {*map(_name_of, old_actions), *moves}
        actions = self._level.document.values.get("action_space", default)
        new_actions = [action for action in actions if _name_of(action) in missing]
        if new_actions:
            work.set_value(("action_space",), [*old_actions, *new_actions])

    def _add_rules(self, work: EditorDocument, part: RulePart) -> None:
        """Add the chosen rules of one kind, such as rewards, to the edited level `work`, in the
        order of the other level. Rules that exist already are skipped. A combination by
        `reduce_all` is added as a whole."""
        chosen = [(rule, entry) for rule, entry in self._rules if rule.part is part]
        if not chosen:
            return
        replaced: list[str] = []
        if _combines_all(self._level.document, part):
            combination = self._convert(self._level.document.values[part.key])
            nested = next(value for value in combination.values() if isinstance(value, list))
            replaced = [_make_key(entry) for entry in nested]
            if _combines_all(work, part) and replaced == _list_keys(work, part):
                return
            chosen = [(chosen[-1][0], combination)]
        known = _list_keys(work, part)
        for rule, entry in chosen:
            if _make_key(entry) not in known:
                index = self._find_position(work, rule)
                work.set_text(work.rules.insert_entry(part, index, entry, joins_all=False))
        for old_rule in reversed(work.rules.rules(part)):
            if _make_key(old_rule.entry) in replaced:
                work.set_text(work.rules.remove_rule(old_rule))

    def _find_position(self, work: EditorDocument, rule: Rule) -> int:
        """Return where to insert a rule in the edited level: before the first rule that follows it
        in the other level, else at the end."""
        converted = {chosen.path: entry for chosen, entry in self._rules}
        others = self._level.document.rules.rules(rule.part)
        following = others[others.index(rule) + 1 :]
        keys = [_make_key(converted.get(other.path, other.entry)) for other in following]
        old_keys = _list_keys(work, rule.part)
        return next((old_keys.index(key) for key in keys if key in old_keys), len(old_keys))


def _list_keys(document: EditorDocument, part: RulePart) -> list[str]:
    return [_make_key(rule.entry) for rule in document.rules.rules(part)]


def _make_key(entry: Any) -> str:
    """Return a text that identifies a rule by its name, object types and nested rules. Equal rules
    have equal texts."""
    fields = entry if isinstance(entry, dict) else {"name": entry}
    kept = {
        key: fields[key]
        for key in sorted(fields)
        if key == "name" or key.endswith(_IDENTIFYING_SUFFIXES)
    }
    return json.dumps(kept, default=str)


def _without_sprite(entry: dict[str, Any] | None) -> dict[str, Any]:
    return {**(entry or {}), "sprite": ""}


def _component_names(object_type: ObjectType) -> list[str]:
    return [cls.__name__ for cls in object_type.component_classes]


def _name_of(action: Any) -> str:
    return str(action["name"] if isinstance(action, dict) else action)


def _read_file(file: Path) -> bytes:
    return read_bytes(file, _MAX_BYTES, "files to copy")
