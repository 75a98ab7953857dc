"""Expressions beside mathy_core: the same trees, texts, places for rules, and results."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gv_engine.domains.algebra import expression, rule_set
from gv_engine.domains.algebra.expression import POINTS, NoValueError, evaluate, is_equivalent
from gv_engine.domains.algebra.library import ExpressionParser, rules
from gv_engine.domains.algebra.rule_set import ExpressionError, RuleSet, parse, to_library

RULES = RuleSet(rule_set.core_rules())
MARKED = {
    expression.CA: rules.ConstantsSimplifyRule(),
    expression.CS: rules.CommutativeSwapRule(preferred=False),
    expression.CS_ANY: rules.CommutativeSwapRule(preferred=True),
    expression.DM: rules.DistributiveMultiplyRule(),
    expression.DF: rules.DistributiveFactorOutRule(),
    expression.AG: rules.AssociativeSwapRule(),
    expression.VM: rules.VariableMultiplyRule(),
    expression.RS: rules.RestateSubtractionRule(),
}
LEAVES = ["0", "1", "7", "12", "2.5", "0.5x", "x", "y", "3x", "4y^2", "x^3", "-x", "-9", "-2y"]


def grown(signs: list[str]) -> st.SearchStrategy[str]:
    """Texts of expressions, with parentheses where they are needed and where not."""
    return st.recursive(
        st.sampled_from(LEAVES),
        lambda below: st.builds(
            lambda one, sign, two: f"({one}){sign}({two})" if sign != "+" else f"{one} + ({two})",
            below,
            st.sampled_from(signs),
            below,
        ),
        max_leaves=9,
    )


plain = grown(["+", "*"])
any_signs = grown(["+", "+", "*", "*", "-", "/", "^"])

spaced = st.recursive(
    st.sampled_from(LEAVES),
    lambda below: st.one_of(
        st.builds("({})".format, below),
        st.builds("{} {} {}".format, below, st.sampled_from("+-*/"), below),
    ),
    max_leaves=9,
)
"""Texts that are put together of their terms."""


def same_tree(one, other) -> bool:
    def parts(node):
        return node and (type(node), node.name, parts(node.left), parts(node.right))

    return bool(parts(one) == parts(other))


def whole(root, node, number) -> str:
    """What mathy_core makes of a whole tree of its own."""
    result = RULES.change(root, node, number).result
    assert result is not None
    return str(result.get_root())


@settings(max_examples=100)
@given(st.one_of(any_signs, spaced))
def test_trees_texts_and_places_are_those_of_mathy_core(text):
    theirs = ExpressionParser().parse(text)
    ours = parse(text)
    assert same_tree(to_library(ours).root, theirs)
    assert ours.text == str(theirs)
    assert rule_set.from_library(theirs).text == ours.text
    nodes = theirs.to_list("inorder")
    assert [node.name for node in ours.in_order()] == [node.name for node in nodes]
    assert ours.size == len(nodes)
    for node, byte in zip(nodes, ours.rule_bytes(), strict=True):
        for mark, rule in MARKED.items():
            assert bool(byte & mark) == bool(rule.can_apply_to(node)), (text, str(node), rule.code)
    if ours.is_exact:
        assert same_tree(ExpressionParser().parse(ours.text), theirs)


@pytest.mark.parametrize(
    "text",
    [
        *("4x + -2y", "4 - -2x^2", "-x - (y - 3z)", "a -b * c", "c * a -b", "c * a-b / d"),
        *("(a + b)(c + d)", "(a + b) c * d", "2(x + 1) - 3", "-(a + b) * c", "a * (b / -c) / 2"),
        *("x = y", "x = y = 2z", "x + 1 = 2 * x - 3", "((x + 1))", "a  +  b", "[4x + 1] * 2"),
        *("5! + 2", "sgn(x + 1) + 2", "1.5x * y!", "xyz + x^2y * 3", "x^2 - 2^3", "x^-2 + 1"),
        *("(x = y) + 1", "1 + (x = y)", "() + 1", "( + 2)", "a + + b", "a + * b", "4 2 + x"),
        *("x^ - 2", "x! + 2", "x) + (y", "(x + y", "x + y)", " + 4x", "4x + ", "x + 4 $"),
        *("x^2^3 + 1", "", "4 +", "(x", "x)", "4 $ x", "x 4", "^2", "1.2.3", "sgn"),
    ],
)
def test_a_text_put_together_of_its_terms_is_that_of_mathy_core(text):
    try:
        theirs = ExpressionParser().parse(text)
    except Exception:  # whatever it raises
        with pytest.raises(ExpressionError, match=f"^{re.escape(repr(text))} is no expression"):
            parse(text)
    else:
        assert same_tree(to_library(parse(text)).root, theirs)


def test_what_is_learnt_of_like_parts_holds_for_unlike_ones(monkeypatch):
    monkeypatch.setattr(rule_set, "_TEMPLATES", {})
    assert RULES.apply(parse("x + x"), 1, 1)[0] == "x + x"
    assert RULES.apply(parse("x + y"), 1, 1)[0] == "y + x"
    assert len(rule_set._TEMPLATES) == 1


@settings(max_examples=60)
@given(st.one_of(plain, any_signs))
def test_a_part_of_the_tree_is_rewritten_like_the_whole(text):
    root = parse(text)
    places = [
        (node, number)
        for node, byte in enumerate(root.rule_bytes())
        for number, rule in enumerate(RULES)
        if byte & next(mark for mark, same in MARKED.items() if type(same) is type(rule))
    ]
    for node, number in places:
        outcomes = []
        for way in (
            lambda: RULES.apply(root, node, number)[0],  # noqa: B023  # called at once
            lambda: whole(root, node, number),  # noqa: B023
        ):
            try:
                outcomes.append(way())
            except rule_set.RewriteError:
                outcomes.append("refused")
        ours, theirs = outcomes
        # a result that does not parse is refused as well
        assert ours in (theirs, "refused")
        if root.is_plain:
            assert ours == theirs
            assert is_equivalent(root, parse(ours))


@settings(max_examples=60)
@given(any_signs)
def test_what_the_mask_offers_keeps_the_value(text):
    root = parse(text)
    for node, number in np.argwhere(RULES.mask(root)).tolist():
        written, parsed = RULES.apply(root, node, number)
        assert parse(written).text == parsed.text
        if not root.is_plain:
            assert is_equivalent(root, parsed)


@pytest.mark.parametrize(
    ("text", "printed"),
    [("xy^2", "y^2 * x * y"), ("x^2y", "x^2y"), ("(2x)^3", "2x^3"), ("5! + 2", "5! + 2")],
)
def test_what_mathy_core_reads_in_its_own_way(text, printed):
    assert parse(text).text == printed


@pytest.mark.thorough
def test_long_texts_are_read_as_far_as_they_may_reach():
    assert parse("+".join("1" * 2048)).size == 4095
    assert parse("x" * 4096).size == 8191
    assert parse("(" * 150 + "x" + ")" * 150).text == "x"
    with pytest.raises(ExpressionError, match="cannot be parsed"):
        parse("(" * 2000 + "x" + ")" * 2000)
    with pytest.raises(ExpressionError, match="the expression has 4,097 characters"):
        parse("x" * 4097)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("2^-1", "CA"),  # mathy_core raises
        ("4 / 0", "CA"),  # gives nan
        ("2^70", "CA"),  # wraps
        ("(2x)^3 + x + y", "CS"),  # prints as something else
        ("x - (-y) * 2", "RS"),  # prints what does not parse
    ],
)
def test_what_would_go_wrong_is_not_offered(text, refused):
    root = parse(text)
    number = [rule.code for rule in RULES].index(refused)
    mark = next(mark for mark, rule in MARKED.items() if rule.code == refused)
    assert any(byte & mark for byte in root.rule_bytes())  # mathy_core offers it
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not RULES.mask(root)[:, number].any()


def test_nothing_is_factored_out_of_huge_numbers():
    huge = 10**30
    root = parse(f"{huge}x + {huge}x")
    assert not RULES.mask(root)[:, 3].any()
    assert RULES.mask(parse("1000000x + 3x"))[:, 3].any()


def test_values_are_exact():
    assert evaluate(parse("2^70"), {}) == 2**70
    assert evaluate(parse("1 / 3 + 1 / 3 + 1 / 3"), {}) == 1
    assert is_equivalent(parse("x * (y + 1)"), parse("x * y + x"))
    assert not is_equivalent(parse("x * (y + 1)"), parse("x * y + y"))
    assert is_equivalent(parse("2x = 6x - 8"), parse("6x + -8 = 2x"))
    assert not is_equivalent(parse("2x = 6x - 8"), parse("2x = 6x + 8"))
    assert not is_equivalent(parse("x = 1"), parse("x"))
    for text in ("1 / 0", "x^(9^(9^9))", "0^-1"):
        with pytest.raises(NoValueError):
            evaluate(parse(text), POINTS[0])


def test_a_change_is_worked_out_when_somebody_looks():
    change = rule_set.LazyChange(RULES, parse("4x + 2x"), 3, 3)
    assert not {"node", "result"} & vars(change).keys()
    assert change.result is not None
    assert str(change.result.get_root()) == "(4 + 2) * x"
    assert change.node is not None
    assert change.rule is RULES[3]


@settings(max_examples=60)
@given(any_signs)
def test_every_character_belongs_to_a_node_or_to_none(text):
    root = parse(text)
    found = rule_set.find_spans(text, root)
    taken: set[int] = set()
    for node, (start, end), whole in zip(
        root.in_order(), found.node_spans, found.subtree_spans, strict=True
    ):
        own = found.text[start:end].replace(" ", "")
        assert own == (node.name if start < end else "")
        assert not taken & set(range(start, end))
        taken |= set(range(start, end))
        part = found.text[slice(*whole)]
        assert part.count("(") == part.count(")")
    left = {found.text[i] for i in range(len(found.text)) if i not in taken}
    assert left <= set("() ")
