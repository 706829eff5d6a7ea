"""What the program says, as a whole: printed on one page to be read, and held to a few rules.

One of them, a list of words that a reader of this field does not expect, holds for all prose too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from dt_jupyter.ivm import Refusal
from dt_jupyter.model import CATALOGUE, count_of, error
from dt_jupyter.sql.grammar.magic_specs import (
    CHANGES,
    CHANGES_CELL,
    DT,
    DYNAMIC_TABLE,
    REPLAY,
    SQL,
    MagicSpec,
)
from tests.unit.sentences import ROOT, Sentence, is_sentence, page, prose, sentences

PAGE = ROOT / "artifacts" / "sentences.md"
LONGEST = 200
NOUNS = (
    "row table file condition column source version snapshot commit node refresh name "
    "operator group key job task step statement change partition stream test extra sampled "
    "missing"
)

_PLURAL = re.compile(
    r"\{(?!MOST|_MOST|[A-Z_]+[},])(?![^{}]*count_of)[^{}]*\} (?:(?!without )\w+ )?(?:"
    + "|".join(f"{n}e?s" for n in NOUNS.split())
    + r")\b(?! \{)"
)
"""A count that does not agree with its noun where it is one; limits are constants, larger than
one."""
ODD = {
    r"\banew\b": "again, recompute, recreate",
    r"(?<!here\s)\b(?:is|are|was) no (?!(?:longer|more|less|one|other)\b)": "is not a",
    r"\bwho(?:m?ever)\b": "the caller, the process that, anyone who",
    r"\bwhichever\b": "any, the one that",
    r"\bat hand\b": "in memory, available",
    r"\bof (?:its|their|our|his) own\b": "separate, its own",
    r"\btold\b": "reported, logged, shown, known",
    r"\btells?\b": "shows, reports, distinguishes",
    r"\bapart\b": "separate, distinguish",
    r"\b(?:put|set|stored|kept|made) aside\b": "move away, stage",
    r"\bby hand\b": "manually",
    r"\bso many\b": "the number, in words",
    r"\bhowever many\b": "any number of",
    r"\blets? through\b": "passes",
    r"\b(?:go|goes|going|went|gone) on\b": "continues, resumes",
    r"\bbeside\b": "next to, in addition to, during",
    r"\bbut for\b": "except for",
    r"\b(?:by|of) (?:itself|themselves)\b": "automatically, separately",
    r"\bnobody\b": "no one, nothing, no process",
    r"\band the like\b": "name one more",
    r"\bstands?\b(?!-)": "is, has read, applies",
    r"\bstood\b": "was",
    r"\balike\b": "the same, in the same way",
    r"\bas ever\b": "as before",
    r"\bmeanwhile\b": "at the same time, since",
    r"\b(?:bears?|bore)\b": "has",
    r"\bknows? no\b": "does not know, does not depend on",
    r"\bc[ao]mes? of\b": "the outcome",
    r"\bc[ao]mes? and (?:went|goe?s?)\b": "were inserted and deleted",
    r"\b(?:is|are|be) had\b": "exists, is available",
    r"\bin turns\b": "alternately",
    r"\bas it has it\b": "as it is stored",
    r"\bmakes? do\b": "is enough",
    r"\bmend(?:s|ed|ing)?\b": "repair, fix",
    r"\b(?:some|any|every)body\b": "a user, every role, any process",
    r"\blook(?:s|ed)? at\b": "reads, checks",
    r"\bbec[ao]mes? of\b": "the outcome of, the effect on",
    r"\b(?:is|are|was|were|be) (?:others|another one)\b": "has changed, differs, was replaced",
    r"\blets? go of\b": "releases",
    r"\b(?:is|are|was|were) asked for\b": "is requested",
    r"\blies\b": "is",
}
"""Words of no field, and better ones: in messages, docstrings, comments and pages."""
LEFT = {
    "dt_jupyter/evaluation/": 22,
    "dt_jupyter/plans/": 77,
    "dt_jupyter/sql/": 105,
    "dt_jupyter/refresh/stage_": 22,
    "docs/benchmarks.md": 62,
}
"""By the start of a path: at most this number of them, until they are replaced."""
UNCLEAR = {
    r"\b(?:begins|has|takes) no query": "does not begin a query",
    r"\bexists already\b": "already exists",
    r"\bnot foreseen\b": "unexpectedly",
    r"\bkeeps its past\b": "is retained",
    r"\ba text\b": "a string",
    r"\b[Ff]oretold\b": "simulated",
    r"\bAnew\b": "reload",
    r"\bspeaks\b": "runs, or uses",
    r"\ballows no\b": "does not allow",
}
"""Words that are unclear in a message, and better ones."""
PUBLIC = (
    "schema_mode snapshot_time on_create on_schedule retain_hours my_lake new_orders "
    "big_orders dt_jupyter table_changes spark_catalog try_divide try_cast try_add "
    "try_multiply try_sum try_mod try_subtract try_element_at try_to_date try_to_timestamp "
    "try_make_timestamp try_to_binary try_to_number try_parse_json try_parse_url try_url_decode "
    "raise_error assert_true New_York configure_spark_with_delta_pip data_timestamp "
    "explain_plan load_ext "
    "last_query_id at_least_once on_change"
)

"""Names with an underscore that a user knows."""
INTERNAL = frozenset({
    "dt_jupyter/model/tuning.py", "dt_jupyter/engine/execute/missing_names.py",
    "dt_jupyter/catalog/migrations.py",
    "dt_jupyter/catalog/triggers.py", "dt_jupyter/engine/information_schema.py",
})  # fmt: skip
"""Modules whose texts are columns and settings by their names."""


_COLUMNS = re.compile(r"\b[A-Z_]+ (?:string|timestamp|TEXT)\b")
"""Schemas, which are long."""


def faults(text: str) -> Iterator[str]:
    if re.search(r"(?<![.])[.,;:][.](?![.])(?:\s|$)", text):
        yield "two marks at an end"
    if re.search(r"\w {2,}\w", text) and "\n" not in text:
        yield "two blanks"
    if match := _PLURAL.search(text):
        yield f"not for one: {match[0]}"
    for pattern, better in UNCLEAR.items():
        if match := re.search(pattern, text):
            yield f"{match[0]}: say {better}"
    if (
        not _COLUMNS.search(text)
        and len(re.sub(r"\{[^{}]*\}", "", text)) > LONGEST
        and "\n" not in text
    ):
        yield "too long"


def leaks(text: str) -> set[str]:
    """Names of the program's own in a text."""
    said = re.sub(r"\{[^{}]*\}|'[^']*'|\"[^\"]*\"|`[^`]*`", "", text)
    found = re.findall(r"(?<![\w.$/%-])[a-z]+(?:_[a-z0-9]+)+\b(?!\()", said)
    return {name for name in found if name not in PUBLIC.split()}


@pytest.fixture(scope="module")
def said() -> list[Sentence]:
    return [s for s in sentences() if s.file not in INTERNAL]


def test_all_of_them_stand_on_one_page() -> None:
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), "utf-8")
    text = PAGE.read_text("utf-8")
    for known in ("Stream {name} does not exist.", "No refresh yet", "Convert it to one."):
        assert known in text
    assert "{plural(length, 'node')}, {words} of " in text


def test_each_is_plain_and_agrees_with_its_counts(said: list[Sentence]) -> None:
    found = {f"{s.file}:{s.line} {s.text}": [*faults(s.text)] for s in said}
    assert {text: what for text, what in found.items() if what} == {}


def test_none_names_what_is_inside(said: list[Sentence]) -> None:
    shown = [s for s in said if is_sentence(s.text)]
    found = {f"{s.file}:{s.line} {s.text}": leaks(s.text) for s in shown}
    assert {text: names for text, names in found.items() if names} == {}


_ODD = re.compile("|".join(ODD).replace(" ", r"\s+"), re.IGNORECASE)
_CODE = re.compile(r"`[^`]*`|\$\{[^{}]*\}|\{[^{}]*\}")


def odd_words(said: Sentence) -> Iterator[str]:
    """The words of `ODD` in a text, each with its place; code in it does not count."""
    text = _CODE.sub(lambda m: re.sub(".", "·", m[0]), said.text)
    for match in _ODD.finditer(text):
        line = said.line + text.count("\n", 0, match.start())
        yield f"{said.file}:{line}: {' '.join(match[0].split())}"


def test_prose_has_no_odd_words() -> None:
    found = [place for said in (*prose(), *sentences()) for place in odd_words(said)]
    for start, most in LEFT.items():
        left = [place for place in found if place.startswith(start)]
        assert len(left) <= most, f"{start}: {len(left)} odd words, not {most}"
        found = [place for place in found if place not in left]
    assert found == [], "say it in other words: see ODD"


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ("It is computed\n    anew.", ["x.py:2: anew"]),
        ("Nobody is told.", ["x.py:1: Nobody", "x.py:1: told"]),
        ("There is no rule; `told` is one, {told} another.", []),
        ("It understands stand-ins.", []),
    ],
)
def test_an_odd_word_is_found_where_it_is(text: str, odd: list[str]) -> None:
    assert [*odd_words(Sentence("x.py", 1, text))] == odd


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Syntax error: at or near 'FORM'..", "two marks"),
        ("filter of {len(rel.on)} conditions", "not for one"),
        ("{count} dynamic tables", "not for one"),
        ("It speaks SQL", "say runs, or uses"),
        ("Foretold: mean 3 s", "say simulated"),
        ("The browser allows no copying here.", "say does not allow"),
        ("it  is", "two blanks"),
        ("word " * 60, "too long"),
    ],
)
def test_a_fault_is_seen(text: str, fault: str) -> None:
    assert any(fault in found for found in faults(text))


@pytest.mark.parametrize(
    "text", ["args={{...}}", "more than {MOST_CHANGED} operators", "{count_of(n, 'row')} read …"]
)
def test_what_is_right_passes(text: str) -> None:
    assert [*faults(text)] == []


def test_an_inner_name_is_seen() -> None:
    assert leaks("key country_2 of {stage_plan}, dt.pin(…), 'a_b'") == {"country_2"}


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=CATALOGUE.keys())
def test_an_error_is_a_sentence_and_a_hint(entry: object) -> None:
    message, hint = getattr(entry, "message"), getattr(entry, "hint")  # noqa: B009
    assert re.match(r"[A-Z{]", message)
    assert message.endswith((".", "{problem}", "{sentence}"))
    assert hint == "" or (re.match(r"[A-Z{]", hint) and hint.endswith((".", "?", "{hint}")))
    assert len(message) <= LONGEST >= len(hint)


@pytest.mark.parametrize("refusal", Refusal, ids=lambda r: r.name)
def test_a_refusal_is_a_clause_and_its_hint_a_sentence(refusal: Refusal) -> None:
    assert not refusal.sentence.endswith(".")
    assert (
        refusal.sentence.startswith("{")
        or refusal.sentence[0].islower()
        or refusal.name in ("REQUESTED",)
    )
    assert refusal.hint == "" or (refusal.hint[0].isupper() and refusal.hint.endswith("."))


SPECS = (DYNAMIC_TABLE, CHANGES, CHANGES_CELL, REPLAY, SQL, *DT)


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.name)
def test_help_is_a_sentence_and_a_clause_for_each_option(spec: MagicSpec) -> None:
    assert re.fullmatch(r"[A-Z][a-z]+s .*\.", spec.help)
    for option in spec.options:
        assert option.help[0].islower() or option.help.startswith("SQL")
        assert not option.help.endswith(".")


def test_a_fact_with_a_full_stop_makes_no_second_one() -> None:
    made = error("DT-1001", problem="at or near 'FORM'.", hint="See ../lake, or a… b.")
    assert made.sentence == "Syntax error: at or near 'FORM'."
    assert made.hint == "See ../lake, or a… b."


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [(0, "row", "0 rows"), (1, "row", "1 row"), (1234, "row", "1,234 rows"),
     (2, "refresh", "2 refreshes"), (1, "refresh", "1 refresh")],
)  # fmt: skip
def test_a_count_agrees_with_its_noun(count: int, noun: str, text: str) -> None:
    assert count_of(count, noun) == text
