"""README.md and docs/ have short sentences and short paragraphs. The house rule `dialect` looks after the words."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST_WORDS = 24
MOST_WORDS_OF_A_PARAGRAPH = 90
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CODE_BLOCK = re.compile(r"^( *)(```|~~~).*?^\1\2[^\n]*$", re.MULTILINE | re.DOTALL)
# Code, a link's address, and file names are one word or none.
CODE = re.compile(r"`[^`]*`")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
END = re.compile(r"(?<=[.!?:;])[)\"'*_]*\s+")
ABBREVIATIONS = re.compile(r"\b(?:e\.g|i\.e|etc|vs)\.")
WORD = re.compile(r"\w[\w'’/.-]*")
START = re.compile(r"\s*(?:[-*+]|\d+\.|#+|>|\|)\s")


def paragraphs(text: str) -> Iterator[str]:
    """The texts of a page: paragraphs, list items and cells of tables, without code."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    text = CODE_BLOCK.sub("\n", text)
    text = re.sub(r"<!--.*?-->|^:::.*$|^    .*$|^!!! .*$", "", text, flags=re.MULTILINE | re.DOTALL)
    open_: list[str] = []
    for line in [*text.splitlines(), ""]:
        if not line.strip() or START.match(line) or (open_ and open_[0].startswith("#")):
            yield " ".join(open_)
            open_ = []
        if line.lstrip().startswith("|"):
            yield from line.split("|")
        else:
            open_.append(line if line.startswith("#") else START.sub("", line).strip())


def words(sentence: str) -> int:
    return len(WORD.findall(sentence))


def sentences(paragraph: str) -> list[str]:
    plain = LINK.sub(r"\1", CODE.sub("code", paragraph))
    return END.split(ABBREVIATIONS.sub("that is", plain))


def too_long(text: str) -> list[str]:
    found = [s for p in paragraphs(text) for s in sentences(p) if words(s) > MOST_WORDS]
    walls = [p for p in paragraphs(text) if words(CODE.sub("code", LINK.sub(r"\1", p))) > MOST_WORDS_OF_A_PARAGRAPH]
    return [f"a sentence of {words(s)} words: {s}" for s in found] + [f"a long paragraph: {p[:80]}…" for p in walls]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_sentences_and_paragraphs_are_short(page: Path) -> None:
    assert too_long(page.read_text("utf-8")) == []


def test_a_long_sentence_is_seen() -> None:
    long = " ".join(["word"] * 25) + "."
    assert len(too_long(long)) == 1
    assert len(too_long(f"- Short. {long}\n- Short.")) == 1
    assert len(too_long(f"| cell | {long} |")) == 1
    assert too_long(" ".join(["word"] * 24) + ".") == []


def test_a_wall_of_text_is_seen() -> None:
    assert len(too_long("Five words are in here. " * 19)) == 1
    assert too_long("Five words are in here. " * 18) == []


def test_code_and_addresses_are_not_words() -> None:
    assert too_long("`a b c d e f` " * 24) == []
    assert too_long("[a](http://a.b/c/d) " * 24) == []
    assert too_long("```python\n" + "word " * 100 + "\n```\n") == []
