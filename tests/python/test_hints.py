"""Values that do not exist are answered with what to write: versions, columns, options, types of catalogs, tables."""

import datetime as dt
import pickle
from pathlib import Path

import pyarrow as pa
import pytest

import frazil as fz
from frazil.arguments import missing

FORMATS = ("iceberg", "paimon")


@pytest.fixture
def catalog(tmp_path: Path) -> fz.Catalog:
    made = fz.catalog("lake", warehouse=str(tmp_path / "lake"))
    made.create_namespace("db")
    return made


@pytest.fixture(params=FORMATS)
def table(catalog: fz.Catalog, request: pytest.FixtureRequest) -> fz.Table:
    rows = pa.table({"id": [1, 2], "town": ["Oslo", "Rome"]})
    return catalog.create_table("db.t", data=rows, format=request.param)


def said(kind: type[fz.FrazilError], call, *args, **kwargs) -> str:
    with pytest.raises(kind) as caught:
        call(*args, **kwargs)
    assert caught.value.hint is not None
    assert str(caught.value).endswith(caught.value.hint)
    assert str(caught.value).count(caught.value.hint) == 1
    return str(caught.value)


def test_ids_of_snapshots_as_text_are_answered(table: fz.Table) -> None:
    answer = "The id of a snapshot is an integer: write 1 without quotes"
    assert said(fz.NotFoundError, table.scan, at="1").endswith(answer)
    assert said(fz.NotFoundError, table.rollback, to="1").endswith(answer)
    assert said(fz.NotFoundError, table.diff, "1").endswith(answer)
    assert said(fz.NotFoundError, table.inspect.files, at="1").endswith(answer)
    assert said(fz.NotFoundError, table.refs.create_tag, "t", at="1").endswith(answer)


def test_a_tag_of_digits_is_a_tag(table: fz.Table) -> None:
    table.refs.create_tag("1")
    assert table.scan(at="1").count() == 2


def test_times_as_text_are_answered(table: fz.Table) -> None:
    text = said(fz.NotFoundError, table.scan, at="2026-01-31T12:00:00Z")
    assert text.endswith("datetime.fromisoformat('2026-01-31T12:00:00Z'), in UTC without a zone")
    assert "datetime" not in said_without_hint(table, "2026-13-31")
    assert "without quotes" not in said_without_hint(table, "report-7")


def said_without_hint(table: fz.Table, at: str) -> str:
    with pytest.raises(fz.NotFoundError) as caught:
        table.scan(at=at)
    return str(caught.value)


def test_the_version_before_is_answered(table: fz.Table) -> None:
    assert said(fz.NotFoundError, table.scan, at="main^").endswith("table.snapshot.parent_id")


def test_columns_of_sql_are_answered(table: fz.Table) -> None:
    text = said(fz.InvalidInputError, table.scan, select="*")
    assert text == "there is no column '*' (column: *). Leave select out to read all columns"
    text = said(fz.InvalidInputError, table.scan, select="id, town")
    assert text.endswith("Give a list of names: ['id', 'town']")
    assert said(fz.InvalidInputError, table.scan().select, "id,town").endswith("Give a list of names: ['id', 'town']")
    assert table.scan(select="id").schema.names == ["id"]
    text = said(fz.InvalidInputError, table.scan, select=[7])
    assert text == "select: a column's name must be a string, not 7. Columns have names: select=[schema.names[7]]"


def test_only_a_selection_of_columns_can_be_left_out(table: fz.Table) -> None:
    text = said(fz.InvalidInputError, table.scan().statistics, "*")
    assert text.endswith("Columns are: id, town")
    with pytest.raises(fz.InvalidInputError) as caught:
        table.maintain.compact(sort_by="*")
    assert "Leave select out" not in str(caught.value)


def test_milliseconds_are_no_snapshot_in_any_call(table: fz.Table) -> None:
    answer = "For a time, write datetime.fromtimestamp(1704067200000 / 1000, timezone.utc)"
    assert said(fz.NotFoundError, table.scan, at=1704067200000).endswith(answer)
    assert said(fz.NotFoundError, table.inspect.files, at=1704067200000).endswith(answer)
    with pytest.raises(fz.NotFoundError) as caught:
        table.scan(at=7)
    assert "For a time" not in str(caught.value)


def test_a_column_with_a_comma_is_a_column(catalog: fz.Catalog) -> None:
    odd = catalog.create_table("db.odd", data=pa.table({"id, town": [1], "*": [2]}))
    assert odd.scan(select="id, town").to_arrow().to_pylist() == [{"id, town": 1}]
    assert odd.scan(select="*").to_arrow().to_pylist() == [{"*": 2}]


@pytest.mark.parametrize(
    ("option", "answer"),
    [
        ("branch", "A branch is a version: scan(at='name')"),
        ("tag", "A tag is a version: scan(at='name')"),
        ("snapshot-id", "A snapshot is a version: scan(at=id)"),
        ("timestampAsOf", "A point in time is a version: scan(at=datetime(…))"),
        ("start-snapshot-id", "A range of versions is scan(since=…, at=…) or changes(since=…, at=…)"),
    ],
)
def test_options_that_are_arguments_are_answered(table: fz.Table, option: str, answer: str) -> None:
    text = said(fz.InvalidInputError, table.scan, options={option: "1"})
    assert text == f"there is no scan option '{option}'. {answer}"


def test_other_unknown_options_are_listed(table: fz.Table) -> None:
    with pytest.raises(fz.InvalidInputError, match="batch-rows, case-sensitive"):
        table.scan(options={"nope": "1"})


@pytest.mark.parametrize(
    ("type_", "answer"),
    [
        ("paimon", "A catalog of folders has tables of all formats: catalog(name, warehouse='/lake')"),
        ("Iceberg", "A catalog of folders has tables of all formats: catalog(name, warehouse='/lake')"),
        ("s3", "A catalog of folders has tables of all formats: catalog(name, warehouse='/lake')"),
        ("sqlite", "catalog(name, type='sql', uri='sqlite:////lake/catalog.db')"),
        ("postgres", "catalog(name, type='sql', uri='postgresql://…')"),
        ("mysql", "Databases of SQL catalogs are SQLite and PostgreSQL"),
        ("nessie", "catalog(name, type='rest', uri=…)"),
        ("s3_tables", "catalog(name, type='rest', uri=…)"),
        ("thrift", "A Hive Metastore is type='hive' with its uri="),
        ("spark", "docs/howto/share/java.md has both settings"),
        ("delta", "Tables are those of Apache Iceberg and Apache Paimon"),
    ],
)
def test_words_that_are_no_types_of_catalogs_are_answered(type_: str, answer: str) -> None:
    text = said(fz.UnsupportedError, fz.catalog, "prod", type=type_, warehouse="/lake")
    assert text.startswith(f"catalogs of type '{type_}' are not supported (catalog: prod)")
    assert text.endswith(answer)


def test_metastores_of_paimon_are_not_taken_for_catalogs_of_iceberg(tmp_path: Path) -> None:
    database = tmp_path / "c.db"
    properties = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{database}", "warehouse": str(tmp_path)}
    text = said(fz.UnsupportedError, fz.catalog, "pw", **properties)
    assert "metastore 'jdbc' are not supported (catalog: pw)" in text
    assert text.endswith("open_table('WAREHOUSE/DATABASE.db/TABLE')")
    assert not database.exists()
    assert fz.catalog("pw", metastore="filesystem", warehouse=str(tmp_path)).list_namespaces() == []
    assert fz.catalog("pw", type="sql", **properties).list_namespaces() == []


def test_places_near_a_table_are_answered(catalog: fz.Catalog, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    made = catalog.create_table("db.t", data=pa.table({"id": [1]}), format="paimon")
    assert Path(made.location) == lake / "db.db" / "t"
    assert said(fz.NotFoundError, fz.open_table, lake / "db" / "t").endswith(f"Did you mean '{lake}/db.db/t'?")
    assert said(fz.NotFoundError, fz.open_table, lake / "db.db").endswith(f"such as '{lake}/db.db/t'")
    assert said(fz.NotFoundError, fz.open_table, lake).endswith(f"catalog(warehouse='{lake}') lists its tables")
    assert "Did you mean" not in said(fz.NotFoundError, fz.open_table, tmp_path / "none")


def test_a_name_that_is_too_long_for_a_folder_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(fz.NotFoundError, match="there is no table"):
        fz.open_table(f"{tmp_path}/{'x' * 253}/t")


def test_a_hint_that_fails_leaves_the_error_as_it_is(
    tmp_path: Path, catalog: fz.Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> str:
        raise RuntimeError("no hint")

    monkeypatch.setattr(missing, "_RULES", [(fz.FrazilError, "", fails, False)])
    with pytest.raises(fz.NotFoundError, match="there is no table"):
        fz.open_table(tmp_path / "none")
    with pytest.raises(fz.NotFoundError, match=r"db\.none"):
        catalog.load_table("db.none")
    with pytest.raises(fz.UnsupportedError, match="are not supported"):
        fz.catalog("prod", type="paimon", warehouse="/lake")


def test_a_hint_looks_into_few_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for namespace in range(30):
        for name in range(30):
            (tmp_path / f"n{namespace:02}" / f"t{name:02}").mkdir(parents=True)
    (tmp_path / "n00" / "t19" / "metadata").mkdir()
    said_of_it = said(fz.NotFoundError, fz.open_table, tmp_path)
    assert said_of_it.endswith(f"catalog(warehouse='{tmp_path}') lists its tables")
    looked: list[Path] = []
    monkeypatch.setattr(missing, "_has_table", lambda folder: looked.append(folder))
    with pytest.raises(fz.NotFoundError, match="there is no table"):
        fz.open_table(tmp_path)
    namespaces, tables = [tmp_path / f"n{n:02}" for n in range(20)], [tmp_path / "n00" / f"t{n:02}" for n in range(20)]
    assert looked == namespaces + tables


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("db.t$snapshots", "Metadata tables are load_table('db.t').inspect"),
        ("db.t$branch_dev", "A branch is a version of its table: load_table('db.t').scan(at='dev')"),
        ("db.t$audit_log", "Changed rows are load_table('db.t').changes(since=…)"),
    ],
)
def test_metadata_tables_of_java_are_answered(catalog: fz.Catalog, name: str, answer: str) -> None:
    assert said(fz.NotFoundError, catalog.load_table, name).endswith(answer)


def test_metadata_tables_of_spark_are_answered() -> None:
    catalog = fz.catalog(type="memory")
    text = said(fz.NotFoundError, catalog.load_table, "db.t.snapshots")
    assert text.endswith("For a metadata table, write load_table('db.t').inspect.snapshots()")
    with pytest.raises(fz.NotFoundError) as caught:
        catalog.load_table("db.snapshots")
    assert "inspect" not in str(caught.value)


def test_deletes_by_position_of_tables_without_them_are_answered(catalog: fz.Catalog) -> None:
    made = catalog.create_table("db.p", data=pa.table({"id": [1]}), format="paimon")
    places = made.scan(select=["_file", "_pos"]).to_arrow()
    text = said(fz.UnsupportedError, made.delete_positions, places)
    assert text.endswith("Delete the rows by a filter, delete(where), or by their keys, delete_keys(rows)")


def test_a_branch_for_a_tag_is_answered(catalog: fz.Catalog) -> None:
    made = catalog.create_table("db.p", data=pa.table({"id": [1]}), format="paimon")
    made.refs.create_tag("first").create_branch("dev", at="first")
    made.append(pa.table({"id": [2]}), branch="dev")
    answer = "'dev' is a branch. Give a snapshot's id, a tag or a time; scan(since=…, at=…) also takes branches"
    assert said(fz.NotFoundError, made.rollback, to="dev").endswith(answer)
    assert said(fz.NotFoundError, made.changes, since="first", at="dev").endswith(answer)
    assert made.scan(since=1, at="dev").to_arrow().to_pylist() == [{"id": 2}]


def test_a_branch_that_began_later_is_appended(catalog: fz.Catalog) -> None:
    made = catalog.create_table("db.p", data=pa.table({"id": [1]}), format="paimon")
    made.append(pa.table({"id": [2]}))
    made.refs.create_tag("second").create_branch("dev", at="second")
    made.append(pa.table({"id": [3]}), branch="dev")
    made.append(pa.table({"id": [4]}))
    answer = "Append its new rows: append(scan(since='tag', at='dev'))"
    assert said(fz.InvalidInputError, made.refs.merge, "dev").endswith(answer)
    made.append(made.scan(since="second", at="dev"))
    assert sorted(made.scan().to_arrow()["id"].to_pylist()) == [1, 2, 3, 4]


def test_changes_up_to_main_are_those_up_to_the_newest_version(table: fz.Table) -> None:
    first = table.snapshot
    assert first is not None
    table.append(pa.table({"id": [3], "town": ["Bern"]}))
    assert table.changes(since=first.id, at="main", select=["id"]).to_arrow().to_pylist() == [{"id": 3}]


def test_damaged_metadata_is_answered_with_restore(catalog: fz.Catalog) -> None:
    made = catalog.create_table("db.t", data=pa.table({"id": [1]}))
    Path(made.metadata_location).write_text("{", "utf-8")
    text = said(fz.CorruptTableError, catalog.load_table, "db.t")
    assert text.endswith("doctor.restore() writes a new metadata file from what is left")


def test_lost_metadata_of_a_catalog_is_answered_with_restore(tmp_path: Path) -> None:
    sql = fz.catalog("prod", type="sql", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    sql.create_namespace("db")
    made = sql.create_table("db.t", data=pa.table({"id": [1, 2]}))
    Path(made.metadata_location).unlink()
    text = said(fz.NotFoundError, sql.load_table, "db.t")
    assert text.endswith("doctor.restore() writes a new metadata file from what is left")
    done = fz.doctor.restore(made.location, dry_run=False)
    assert done.metadata_location is not None
    assert sql.register_table("db.t", done.metadata_location, overwrite=True).scan().count() == 2
    assert sql.load_table("db.t").scan().count() == 2


def test_a_hint_travels_with_its_error(table: fz.Table) -> None:
    with pytest.raises(fz.NotFoundError) as caught:
        table.scan(at="1")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.hint) == (str(caught.value), caught.value.hint)


def test_words_for_going_back_are_answered(table: fz.Table) -> None:
    with pytest.raises(AttributeError, match=r"Git's `reset` is `rollback\(to=id\)` here"):
        table.reset  # noqa: B018
    # A rollback also takes back the commits after a bad one.
    with pytest.raises(AttributeError, match=r"Git's `revert` is `a recipe: docs/howto/versions/undo-one.md"):
        table.revert  # noqa: B018


def test_a_column_comes_before_names_of_other_libraries(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.words", data=pa.table({"id": [1], "size": [2], "to_arrow": [3]}))
    for name, other in (("id", "PyIceberg's `id` is `uuid` here"), ("size", "pandas' `size` is")):
        with pytest.raises(AttributeError) as caught:
            getattr(table, name)
        assert f": `{name}` is a column: write `scan(select='{name}')`. {other}" in str(caught.value)
    with pytest.raises(AttributeError, match="`to_arrow` is a column"):
        table.to_arrow  # noqa: B018


def test_dates_are_answered_as_before(table: fz.Table) -> None:
    with pytest.raises(fz.InvalidInputError, match="Say when: at=datetime"):
        table.scan(at=dt.date(2026, 1, 31))  # type: ignore[arg-type]
