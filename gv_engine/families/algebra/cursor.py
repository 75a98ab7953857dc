"""The cursor: the node of an expression, and the rule, that the player has chosen."""

from __future__ import annotations

from gv_engine.language.expression_frame import ExpressionFrame, TreeNode

RULE = "rule_"
"""Beginning of the names of commands that apply a rule by its number, from 1."""


class TreeCursor:
    """A node, and one of the rules that apply to it.

    Args:
        frame: what is shown at first.

    Attributes:
        frame: what is shown.
        node: its index in order.
        rule: number of a rule; -1 if none applies to the node.
    """

    def __init__(self, frame: ExpressionFrame) -> None:
        self.frame = frame
        self.choose(_newest(frame))

    @property
    def chosen(self) -> TreeNode:
        """The node."""
        return self.frame.nodes[self.node]

    def choose(self, node: int, rule: int | None = None) -> None:
        """Choose a node, and one of its rules, by default the first."""
        self.node = node
        rules = self.chosen.rules
        self.rule = rule if rule in rules else rules[0] if rules else -1

    def follow(self, frame: ExpressionFrame) -> None:
        """Another picture is shown: choose what the last move has made there, or the same node."""
        before, known, self.frame = self.chosen, self.frame, frame
        if (known.steps, known.nodes) == (frame.steps, frame.nodes):
            return
        changed = any(node.changed for node in frame.nodes)
        same = [node.x for node in frame.nodes if node.identity == before.identity]
        self.choose(same[0] if same and not changed else _newest(frame))

    def command(self, name: str) -> str:
        """Take a command of the bindings' group `algebra`.

        Returns:
            The action that it stands for; empty if it only chooses, or if the rule does not apply.
        """
        if name in ("node_before", "node_after"):
            step = 1 if name == "node_after" else -1
            self.choose(max(0, min(len(self.frame.nodes) - 1, self.node + step)))
        elif name == "node_above":
            self.choose(max(0, self.chosen.parent) if self.chosen.y else self.node)
        elif name == "node_below":
            below = [node.x for node in self.frame.nodes if node.parent == self.node]
            self.choose(below[0] if below else self.node)
        elif name in ("next_usable", "previous_usable"):
            self._jump(1 if name == "next_usable" else -1)
        elif name in ("next_rule", "previous_rule") and self.chosen.rules:
            rules = self.chosen.rules
            step = 1 if name == "next_rule" else -1
            self.rule = rules[(rules.index(self.rule) + step) % len(rules)]
        elif name == "apply":
            return self.action(self.rule)
        elif name.startswith(RULE):
            return self.action(int(name.removeprefix(RULE)) - 1)
        return ""

    def action(self, rule: int) -> str:
        """The action of a rule at the node; empty if it does not apply."""
        return f"{self.frame.actions[rule]} {self.node}" if rule in self.chosen.rules else ""

    def _jump(self, step: int) -> None:
        """Choose the next node in order, or the one before, that some rule applies to."""
        count = len(self.frame.nodes)
        ring = ((self.node + step * far) % count for far in range(1, count + 1))
        self.choose(next((x for x in ring if self.frame.nodes[x].rules), self.node))


def _newest(frame: ExpressionFrame) -> int:
    """The uppermost node that the last move has changed, else the first that a rule applies to."""
    changed = [node for node in frame.nodes if node.changed]
    if changed:
        return min(changed, key=lambda node: (node.y, node.x)).x
    return next((node.x for node in frame.nodes if node.rules), 0)
