"""The site is complete: every page is in the navigation, links lead somewhere, and generated files are up to date."""

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import frazil as fz

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
CONFIG = (ROOT / "mkdocs.yml").read_text("utf-8")
RECIPES = [page for page in (DOCS / "howto").rglob("*.md") if page.parent != DOCS / "howto"]
# What users of other libraries search for.
WORDS = """
predicate pushdown | pushdown | partition pruning | column pruning | projection | data skipping |
concurrency | performance | faq | roadmap | progress bar | row-level | scd | slowly changing dimension |
airflow | dbt | cron | dagster | prefect | time travel | schema evolution | partition evolution |
hidden partitioning | vacuum | optimize | z-order | clustering | bloom filter | deletion vector |
position delete | equality delete | upsert | merge into | cdc | change data capture | change data feed |
debezium | kafka | structured streaming | lineage | snapshot isolation | acid | serializable |
optimistic concurrency | isolation level | exactly once | idempotent | retry | schema registry |
schema drift | type widening | sort order | table properties | s3 credentials | iam role | assume role |
vended credentials | remote signing | minio | azure | gcs | unity | polaris | nessie | lakekeeper | athena |
trino | flink | snowflake | bigquery | dremio | kerberos | docker | kubernetes | lambda | jupyter |
streaming | backfill | rename column | drop column | default value | nested | decimal | nanosecond |
geometry | variant | quickstart | getting started | logging | opentelemetry | maintenance | compaction |
bin-packing | small files | orphan | gdpr | rollback | restore | dynamic partition overwrite | copy-on-write |
merge-on-read | migrat | lakehouse | data lake | delta lake | hudi | zero-copy | table statistics |
materialized view | two-phase commit | release notes
"""
WORDS_OF_USERS = [word.strip() for word in WORDS.replace("\n", " ").split("|")]
MOST_LINES = 85
MOST_FILES = 20
LINK = re.compile(r"\]\(([^)\s]+)\)")
REPOSITORY = re.compile(r"https://(?:raw\.githubusercontent|github)\.com/frazil/frazil/(?:(?:blob|tree)/)?main/(.*)")
PROJECT = re.compile(r"github\.com/[\w.-]+/frazil|[\w-]+\.github\.io/\w+|raw\.githubusercontent\.com/[\w.-]+/\w+")


def loaded(path: str) -> ModuleType:
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LLMS, PLOTS, RELEASE = loaded("tools/llms_txt.py"), loaded("benches/plots.py"), loaded("tools/release_check.py")


def without_code(text: str) -> str:
    return re.sub(r"^( *)```.*?^\1```", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as the site makes them."""
    text = page.read_text("utf-8")
    headings = re.findall(r"^#+ (.+)$", without_code(text), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "") for heading in headings]
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in plain}


def dead(page: Path, text: str) -> Iterator[str]:
    """Relative links that lead nowhere."""
    for link in LINK.findall(without_code(text)):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            yield link


def test_every_page_is_in_the_navigation() -> None:
    listed = [path for _, _, path in LLMS.pages(CONFIG)]
    assert sorted(listed) == sorted(page.relative_to(DOCS).as_posix() for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_lead_somewhere(page: Path) -> None:
    assert not list(dead(page, page.read_text("utf-8")))


def test_a_dead_link_is_found() -> None:
    text = "[a](gone.md) [b](guide/scan.md#no-such-part) [c](#nowhere) [d](guide/scan.md#filters) [e](https://x.y)"
    assert list(dead(DOCS / "index.md", text)) == ["gone.md", "guide/scan.md#no-such-part", "#nowhere"]


def test_recipes_are_short_and_listed() -> None:
    index = (DOCS / "howto" / "index.md").read_text("utf-8")
    assert len(RECIPES) >= 30
    assert not [page.name for page in RECIPES if len(page.read_text("utf-8").splitlines()) > MOST_LINES]
    listed = {(DOCS / "howto" / link).resolve() for link in LINK.findall(index)}
    assert listed == set(RECIPES)


def test_the_words_of_the_field_are_found() -> None:
    pages = [page.read_text("utf-8").lower().replace("\n", " ") for page in PAGES]
    assert not [word for word in WORDS_OF_USERS if not any(word in page for page in pages)]


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "index.md"], ids=["readme", "home"])
def test_the_number_of_recipes_is_right(page: Path) -> None:
    assert re.findall(r"(\d+) short recipes", page.read_text("utf-8")) == [str(len(RECIPES))]


def test_folders_of_recipes_are_small() -> None:
    assert all(len(list(folder.glob("*.md"))) <= MOST_FILES for folder in {page.parent for page in RECIPES})


def test_llms_txt_is_up_to_date() -> None:
    assert (DOCS / "llms.txt").read_text("utf-8") == LLMS.text(), "run `make llms`"


def test_every_page_says_what_it_is_for() -> None:
    """By its first sentence, which llms.txt shows."""
    said = {path: LLMS.first_sentence((DOCS / path).read_text("utf-8")) for _, _, path in LLMS.pages(CONFIG)}
    poor = re.compile(r"import |The guides?:|The examples|.*\?$|.{0,24}$")
    assert {path: text for path, text in said.items() if poor.match(text) or not text.endswith(".")} == {}


def test_a_poor_first_sentence_is_seen() -> None:
    assert LLMS.first_sentence("# A\n\n    import frazil as fz\n\n- A list.\n") == ""
    assert LLMS.first_sentence("# A\n```python\nx = 1\n```\nA page about x. More.\n") == "A page about x."


def test_calls_in_tables_and_sentences_exist() -> None:
    """`fz.spark.merge(…)` in the text: the code blocks run, this is for the rest."""
    objects = {
        "fz.spark": fz.spark,
        "fz": fz,
        "table.maintain": fz.maintain.Maintain,
        "table.refs": fz.refs.Refs,
        "table.inspect": fz.inspect.Inspect,
        "table": fz.Table,
        "scan": fz.Scan,
        "catalog": fz.Catalog,
    }
    call = re.compile(rf"\b({'|'.join(map(re.escape, objects))})\.(\w+)\(")
    for page in PAGES:
        if page.name not in ("names.md", "from-pyiceberg.md", "from-pypaimon.md"):
            code = re.findall(r"`([^`\n]+)`", without_code(page.read_text("utf-8")))
            named = {found for text in code for found in call.findall(text)}
            assert not [f"{of}.{name}" for of, name in named if not hasattr(objects[of], name)], page


def test_versions_of_the_compatibility_page_are_those_of_the_project() -> None:
    page = (DOCS / "engines" / "compatibility.md").read_text("utf-8")
    needs = (ROOT / "pyproject.toml").read_text("utf-8")
    pinned = (ROOT / "requirements" / "dev.txt").read_text("utf-8")
    for package in ("pyspark", "pyarrow", "pandas"):
        (version,) = re.findall(rf"^{package}==(\S+)", pinned, re.MULTILINE)
        parts = 3 if package == "pyspark" else 2 if package == "pandas" else 1
        assert f"| {'.'.join(version.split('.')[:parts])} |" in page, package
    (versions,) = re.findall(r"^SPARK_VERSIONS \?= (.+)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert f"| {', '.join(versions.split())} |" in page
    assert '"pyarrow>=17"' in needs
    assert "| any | 3.10 or newer | 17 or newer |" in page
    assert 'requires-python = ">=3.10"' in needs


def test_plots_are_up_to_date() -> None:
    assert not [path.name for path, text in PLOTS.drawn().items() if path.read_text("utf-8") != text], (
        "run `make plots`"
    )


def test_plots_show_the_figures_of_the_page() -> None:
    text = (
        "## Planning\n| a | b | Frazil | Other |\n|---|---|---|---|\n| x | none | 0.5 | **1,000.5** (2001×) |\n\n## Z\n"
    )
    plot = PLOTS.Plot("p", "A plot", "Planning", ["x", "none"], {"Frazil": "Frazil", "Other": "Other"})
    assert PLOTS.figures(plot, text) == {"Frazil": 0.5, "Other": 1000.5}
    assert "1000.5 s  (2001×)" in PLOTS.svg(plot, {"Frazil": 0.5, "Other": 1000.5})
    with pytest.raises(ValueError, match="has no row"):
        PLOTS.figures(PLOTS.Plot("p", "A plot", "Planning", ["y"], {"Frazil": "Frazil"}), text)


def test_the_project_has_one_address() -> None:
    files = [*ROOT.glob("*.md"), *PAGES, ROOT / "mkdocs.yml", ROOT / "pyproject.toml", ROOT / "Cargo.toml"]
    files += (ROOT / ".github").rglob("*.yml")
    named = {found for file in files for found in PROJECT.findall(file.read_text("utf-8"))}
    assert named <= {"github.com/frazil/frazil", "frazil.github.io/frazil", "raw.githubusercontent.com/frazil/frazil"}


def test_links_of_the_readme_are_absolute_and_alive() -> None:
    links = LINK.findall(without_code((ROOT / "README.md").read_text("utf-8")))
    assert not [link for link in links if not link.startswith("https://")]
    for link in links:
        if found := re.match(r"https://frazil\.github\.io/frazil/(.*?)/?$", link):
            page = found[1] or "index"
            assert (DOCS / f"{page}.md").exists() or (DOCS / page / "index.md").exists(), link
        if found := REPOSITORY.match(link):
            assert (ROOT / found[1]).exists(), link


def test_the_home_page_and_the_readme_have_the_same_example() -> None:
    first = re.compile(r"```python\n(.*?)```", re.DOTALL)
    readme, home = (first.search(path.read_text("utf-8")) for path in (ROOT / "README.md", DOCS / "index.md"))
    assert readme is not None
    assert home is not None
    assert readme[1] == home[1]


def project(
    folder: Path, changelog: str, *, cargo: str = "1.2.3", lock: str = "1.2.3", provider: str = "", readme: str = ""
) -> Path:
    (folder / "Cargo.toml").write_text(f'[package]\nname = "frazil"\nversion = "{cargo}"\n')
    (second := folder / "packages" / "datafusion").mkdir(parents=True)
    (second / "Cargo.toml").write_text(f'[package]\nname = "frazil-datafusion"\nversion = "{provider or cargo}"\n')
    (folder / "Cargo.lock").write_text(f'[[package]]\nname = "frazil"\nversion = "{lock}"\n')
    (folder / "CHANGELOG.md").write_text(changelog)
    (folder / "README.md").write_text(readme)
    return folder


GOOD = "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-11-26\n### Added\n- A thing.\n\n## [1.2.2] - 2026-10-01\n"


def test_a_version_that_is_ready(tmp_path: Path) -> None:
    assert RELEASE.faults(project(tmp_path, GOOD), "v1.2.3", ["v1.2.3"]) == []
    assert RELEASE.faults(tmp_path, None, ["v1.2.2"]) == []


@pytest.mark.parametrize(
    ("changes", "tag", "tags", "fault"),
    [
        ({"cargo": "1.2.4"}, None, [], "Cargo.lock: it has version 1.2.3"),
        ({"provider": "1.2.2"}, None, [], "packages/datafusion/Cargo.toml: it has version 1.2.2"),
        ({"changelog": GOOD.replace(" - 2026-11-26", "")}, None, [], "there is no section"),
        ({"changelog": GOOD.replace("- A thing.", "")}, None, [], "the section of 1.2.3 is empty"),
        ({"changelog": GOOD.replace("## [Unreleased]\n", "## [Unreleased]\n- More.\n")}, None, [], "move the lines"),
        ({}, "v1.2.4", [], "the tag is v1.2.4"),
        ({}, None, ["v1.2.3"], "was released before"),
        ({"readme": "[a](docs/x.md)"}, None, [], "docs/x.md is not absolute"),
        ({"cargo": "1.2", "lock": "1.2"}, None, [], "is not three numbers"),
    ],
)
def test_a_version_that_is_not_ready(
    changes: dict[str, str], tag: str | None, tags: list[str], fault: str, tmp_path: Path
) -> None:
    given = {"changelog": GOOD, **changes}
    found = RELEASE.faults(project(tmp_path, given.pop("changelog"), **given), tag, tags)
    assert any(fault in text for text in found), found
