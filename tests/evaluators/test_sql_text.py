import logging
import sys

import pytest

from calipers.errors import CalipersError, InvalidOptionError, MissingExtraError
from calipers.evaluators import EvaluationReason, IsReadOnlySQL, ParsesAsSQL

STATEMENTS = [
    # text, dialect, parses, only reads
    ("SELECT 1", None, True, True),
    ("select a, b from t where a > 1 order by b limit 3;", None, True, True),
    ("WITH a AS (SELECT 1) SELECT * FROM a", None, True, True),
    ("SELECT 1 UNION SELECT 2", None, True, True),
    ("(SELECT 1)", None, True, True),
    ("VALUES (1, 2)", None, True, True),
    ("SELECT 1; SELECT 2", None, True, True),
    ("SELECT 1 -- DROP TABLE t", None, True, True),
    ("SHOW TABLES", "mysql", True, True),
    ("EXPLAIN SELECT 1", "mysql", True, True),
    ("SELECT 'DROP TABLE t'", None, True, True),
    ("```sql\nSELECT 1\n```", None, True, True),
    ("```postgres\nSELECT 1\n```\n```bash\npsql\n```", "postgres", True, True),
    ("INSERT INTO t VALUES (1)", None, True, False),
    ("INSERT INTO t DEFAULT VALUES", None, True, False),
    ("UPDATE t SET a = 1", None, True, False),
    ("DELETE FROM t", None, True, False),
    ("MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET a = 1", None, True, False),
    ("CREATE TABLE t (a INT)", None, True, False),
    ("DROP TABLE t", None, True, False),
    ("ALTER TABLE t ADD COLUMN b INT", None, True, False),
    ("TRUNCATE TABLE t", None, True, False),
    ("SET x = 1", None, True, False),
    ("PRAGMA user_version", "sqlite", True, False),
    ("BEGIN", None, True, False),
    ("SELECT 1; DROP TABLE t", None, True, False),
    ("WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a", "postgres", True, False),
    ("SELECT * INTO n FROM t", "postgres", True, False),
    ("SELECT a FROM t FOR UPDATE", "postgres", True, False),
    ("SELECT a FROM t FOR UPDATE", None, True, False),
    ("EXPLAIN ANALYZE DELETE FROM t", "mysql", True, False),
    ("hello", None, False, False),
    ("hello world", None, False, False),
    ("1 + 1", None, False, False),
    ("", None, False, False),
    (" ; ", None, False, False),
    ("-- only a comment", None, False, False),
    ("SELEC 1", None, False, False),
    ("SELECT", None, False, False),
    ("SELECT FROM t", None, False, False),
    ("SELECT * FROM t WHERE", None, False, False),
    ("SELECT (1", None, False, False),
    ("SELECT 'abc", None, False, False),
    ("INSERT INTO t", None, False, False),
    ("INSERT INTO t SELECT", None, False, False),
    ("UPDATE t SET", None, False, False),
    ("EXPLAIN whatever this is", None, False, False),
    ("Show me the money", None, False, False),
    ("Create a table, please", None, False, False),
    ("Here is the query: SELECT 1", None, False, False),
    ("SELECT 1; hello", None, False, False),
    ("```sql\nSELECT 1\n```\n```sql\nSELECT 2\n```", None, False, False),
    (None, None, False, False),
    (b"SELECT 1", None, False, False),
]


@pytest.mark.parametrize(("text", "dialect", "parses", "reads"), STATEMENTS)
def test_what_is_sql_and_what_only_reads(judge, text, dialect, parses, reads):
    parsed = judge(ParsesAsSQL(dialect), text)
    assert parsed.value is parses
    assert (parsed.reason is None) is parses
    read_only = judge(IsReadOnlySQL(dialect), text)
    assert read_only.value is reads
    assert (read_only.reason is None) is reads


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "SELECT a b c",
            "not SQL: Invalid expression / Unexpected token at line 1 column 12, near 'SELECT a b c'",
        ),
        ("hello", "statement 1 is an expression, not a statement: hello"),
        ("SELECT 1; SELECT", "statement 2 selects nothing: SELECT"),
        ("VACUUM", "statement 1 is known by its first word only and was not parsed: VACUUM"),
        (5, "expected SQL as text, got 5 (int)"),
        ("-- x", "expected SQL, got comments only"),
    ],
)
def test_the_reason_says_where_it_stops_being_sql(judge, text, reason):
    assert judge(ParsesAsSQL(), text) == EvaluationReason(value=False, reason=reason)


def test_the_reason_names_what_writes(judge):
    assert judge(IsReadOnlySQL(), "SELECT 1; DROP TABLE t").reason == (
        "statement 2 does more than read, by its drop: DROP TABLE t"
    )


@pytest.mark.parametrize(("limit", "passes"), [(None, True), (2, True), (1, False)])
def test_the_number_of_statements_can_be_limited(judge, limit, passes):
    result = judge(ParsesAsSQL(max_statements=limit), "SELECT 1; SELECT 2;;")
    assert result.value is passes
    assert passes or result.reason == "expected at most 1 statements, got 2"


def test_a_dialect_is_known_whatever_its_case(judge):
    assert judge(ParsesAsSQL("Postgres"), "SELECT 1::int").value is True
    assert judge(IsReadOnlySQL("Postgres"), "DROP TABLE t").value is False


@pytest.mark.parametrize("kind", [ParsesAsSQL, IsReadOnlySQL])
def test_an_unknown_dialect_is_an_error_that_names_the_known_ones(kind):
    with pytest.raises(InvalidOptionError, match=r"'postgre'.*mysql, .*postgres"):
        kind("postgre")


@pytest.mark.parametrize("dialect", [0, [], {}, 3])
@pytest.mark.parametrize("kind", [ParsesAsSQL, IsReadOnlySQL])
def test_a_dialect_is_a_text(kind, dialect):
    with pytest.raises(InvalidOptionError, match="dialect must be a text"):
        kind(dialect)


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "1"])
def test_a_limit_is_a_whole_number_from_1_up(limit):
    with pytest.raises(InvalidOptionError, match="max_statements"):
        ParsesAsSQL(max_statements=limit)


def test_what_is_too_deep_for_the_parser_is_left_undecided(judge):
    with pytest.raises(CalipersError, match="nested too deeply"):
        judge(ParsesAsSQL(), "SELECT " + "(" * 2000 + "1" + ")" * 2000)


def test_the_parser_is_quiet_here_and_speaks_elsewhere(judge, caplog):
    import sqlglot

    with caplog.at_level(logging.WARNING, logger="sqlglot"):
        judge(ParsesAsSQL(), "EXPLAIN SELECT 1")
        judge(IsReadOnlySQL(), "SELECT a FROM t FOR UPDATE")
        assert caplog.records == []
        sqlglot.parse("EXPLAIN SELECT 1")
        assert len(caplog.records) == 1


def test_a_missing_dependency_is_named(judge, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(MissingExtraError, match=r"calipers\[sql\]"):
        judge(ParsesAsSQL(), "SELECT 1")
