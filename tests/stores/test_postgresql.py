"""A server: passwords, schemas, versions, and a connection that is lost."""

import json
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from calipers import Case, Dataset
from calipers.cli.app import app
from calipers.errors import StoreError, StoreUnavailableError
from calipers.gate.looks import Look
from calipers.stores import PostgresqlStore, RunInfo, StoredAttempt, Writer, open_store
from calipers.stores.postgresql import without_password
from calipers.stores.sql import VERSION
from calipers.testing import check_store


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:se:cr@t@host:1/db", "postgresql://me:***@host:1/db"),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
        ("postgresql:///db?user=me&password=secret&x=1", "postgresql:///db?user=me&password=***&x=1"),
        ("postgresql://host/db", "postgresql://host/db"),
    ],
)
def test_a_password_is_never_shown(url, shown):
    assert without_password(url) == shown


def test_a_store_shows_no_password(postgres, postgresql_store):
    assert "s3cret" not in repr(postgresql_store)
    assert "s3cret" not in postgresql_store.url
    assert not [
        name
        for name, value in vars(postgresql_store).items()
        if "s3cret" in repr(value) and name != "_address"
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("s3cret", "wr0ng"), "Check the user and the password"),
        (("/postgres", "/nowhere"), 'database "nowhere" does not exist. Create it'),
        (("?", "?schema=a%3Bb&"), "a schema must have a name of small letters"),
    ],
)
def test_a_server_that_refuses_is_an_error_with_the_way_out(postgres, change, said):
    scheme, rest = f"{postgres.url}?".rsplit("@", 1)
    url = f"{scheme}@{rest.replace(*change)}" if change[0] != "s3cret" else postgres.url.replace(*change)
    with pytest.raises(StoreError) as error:
        open_store(url)
    assert said in str(error.value)
    assert "s3cret" not in str(error.value)
    assert "wr0ng" not in str(error.value)


@pytest.mark.parametrize(
    "url", ["postgresql://?schema=by_names", "postgresql:///postgres?schema=by_names", "postgres://"]
)
def test_what_the_url_does_not_name_is_taken_from_the_environment(postgres, monkeypatch, url):
    parts = urlsplit(postgres.url)
    for name, value in {
        "PGHOST": parts.hostname,
        "PGPORT": str(parts.port),
        "PGUSER": parts.username,
        "PGPASSWORD": parts.password,
        "PGDATABASE": parts.path.removeprefix("/"),
    }.items():
        monkeypatch.setenv(name, value)
    with open_store(url) as store:
        assert store.url == url
        store.begin_run(RunInfo(name="r"))
        assert store.run("latest").name == "r"


def test_options_of_a_url_keep_their_spaces(postgres):
    url = f"{postgres.url}?application_name=two%20words%2B&schema=words"
    with PostgresqlStore(url) as store, store._reading() as db:
        assert db.run("SHOW application_name") == [("two words+",)]


def test_a_schema_that_has_to_exist_is_not_made(postgres):
    url = f"{postgres.url}?schema=team_b"
    for _ in range(2):
        with pytest.raises(StoreError, match="there is no store in the schema 'team_b'"):
            open_store(url, existing=True)
    open_store(url).close()
    with open_store(url, existing=True) as store:
        assert store.runs() == []


def test_a_server_that_is_not_there_may_be_there_later():
    with pytest.raises(StoreUnavailableError, match=r"cannot be reached now.*Is the server up\?") as error:
        open_store("postgresql://me:hidden@127.0.0.1:9/db")
    assert "hidden" not in str(error.value)


def test_tables_of_another_program_are_left_alone(postgres):
    import psycopg

    with psycopg.connect(postgres.url) as connection:
        connection.execute("CREATE SCHEMA theirs")
        connection.execute("CREATE TABLE theirs.runs (a int)")
    with pytest.raises(
        StoreError, match=r"holds tables of another program.*Name another schema with \?schema="
    ):
        PostgresqlStore(f"{postgres.url}?schema=theirs")


def test_a_later_version_is_refused(postgres):
    import psycopg

    url = f"{postgres.url}?schema=later"
    PostgresqlStore(url).close()
    with psycopg.connect(postgres.url) as connection:
        connection.execute(f"UPDATE later.calipers_store SET version = {VERSION + 1}")
    with pytest.raises(StoreError, match=f"has version {VERSION + 1}.*install a newer calipers"):
        PostgresqlStore(url)


def test_a_store_from_before_looks_were_counted_learns_to_count_them(postgres):
    import psycopg

    url = f"{postgres.url}?schema=before_looks"
    PostgresqlStore(url).close()
    with psycopg.connect(postgres.url) as connection:
        for table in (
            "looks",
            "labels",
            "passports",
            "model_answers",
            "index_parts",
            "value_places",
            "moved_values",
        ):
            connection.execute(f"DROP TABLE before_looks.{table}")
        connection.execute("ALTER TABLE before_looks.runs DROP COLUMN spent")
        connection.execute("UPDATE before_looks.calipers_store SET version = 4")
    look = Look(run="a", attempts=1, number=1, outcome="WORSE")
    with PostgresqlStore(url) as store:
        assert store.add_look("ours", look, after=0)
        check_store(store)
    with PostgresqlStore(url) as store:
        assert store.looks("ours") == [look]


def test_a_gate_counts_its_looks_in_a_database(postgres, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    url = f"{postgres.url}?schema=looked_at"
    (tmp_path / "gate.json").write_text('{"evaluators": {"fine": {"at_least": 0.8}}}')

    def fine(output):
        return output % 7 > 0

    def look(n):
        cases = [Case(name=f"n{number}", inputs=number) for number in range(n)]
        dataset = Dataset(name="numbers", cases=cases, evaluators=[fine])
        dataset.evaluate_sync(lambda number: number, name="pr", store=url, progress=False)
        done = CliRunner().invoke(
            app, ["gate", "pr", "--store", url, "--policy", "gate.json", "--out", "json:-"]
        )
        return json.loads(done.stdout)["look"]

    assert [look(20), look(40), look(60)] == [1, 2, 3]


def test_two_stores_in_one_database_do_not_see_each_other(postgres):
    with (
        PostgresqlStore(f"{postgres.url}?schema=us") as ours,
        PostgresqlStore(f"{postgres.url}?schema=you") as yours,
    ):
        ours.begin_run(RunInfo(name="r"))
        assert (len(ours.runs()), len(yours.runs())) == (1, 0)


def test_a_closed_store_says_that_it_is_closed(postgresql_store):
    postgresql_store.close()
    with pytest.raises(StoreError, match="used after it was closed"):
        postgresql_store.runs()


def test_a_lost_connection_is_made_again(fragile):
    with PostgresqlStore(fragile.url) as store:
        run = store.begin_run(RunInfo(name="r"))
        assert store.run("r").id == run.id
        fragile.stop()
        for _ in range(2):
            with pytest.raises(StoreUnavailableError, match="What was stored before is safe"):
                store.beat(run.id)
            with pytest.raises(StoreUnavailableError):
                store.runs()
        fragile.start()
        store.beat(run.id)
        assert [info.id for info in store.runs()] == [run.id]


def test_a_store_that_was_idle_while_the_server_was_restarted_is_used_as_if_nothing_had_happened(fragile):
    with PostgresqlStore(fragile.url) as store:
        run = store.begin_run(RunInfo(name="idle"))
        assert store.run("idle").id == run.id
        fragile.stop()
        fragile.start()
        assert store.run("idle").id == run.id
        store.beat(run.id)


def test_eight_writers_at_once_lose_nothing_though_the_store_is_pruned_meanwhile(postgres, postgresql_store):
    url = f"{postgres.url}?schema={postgresql_store.schema}"
    shared = "the same large text " * 200

    def write(number):
        cases = [Case(name=f"{number} {n}", inputs=f"{shared}{n % 5}") for n in range(150)]
        dataset = Dataset(name=f"writer {number}", cases=cases, evaluators=[lambda output: len(output) > 5])
        return dataset.evaluate_sync(
            lambda inputs: inputs + str(number), name=f"writer {number}", store=url, progress=False
        )

    with ThreadPoolExecutor(9) as pool:
        writers = [pool.submit(write, number) for number in range(8)]
        while not all(writer.done() for writer in writers):
            postgresql_store.prune()
        reports = [writer.result() for writer in writers]
    assert [report.incomplete for report in reports] == [None] * 8
    for report in reports:
        kept = postgresql_store.report(report.reuse.run)
        assert [case.output for case in kept.cases] == [case.output for case in report.cases]
        assert kept.pass_rate().value == 1
    with postgresql_store._reading() as db:
        ((blobs,),) = db.run("SELECT COUNT(*) FROM blobs")
    assert blobs == 5 + 8 * 5, "each large value once, whoever wrote it first"


def test_space_that_removed_runs_left_between_others_does_not_count(postgres):
    with PostgresqlStore(f"{postgres.url}?schema=holes") as store:
        runs = [store.begin_run(RunInfo(name=f"run {n}")).id for n in range(4)]
        for start in range(0, 2000, 100):  # runs that are written at the same time lie among each other
            for run in runs:
                store.append(run, [written(start + n, "x" * 200) for n in range(100)])
        full = store.size()
        for run in runs[:3]:
            store.delete_run(run)
        store.prune()
        assert store.size() < 0.4 * full
        for run in runs[3:]:
            store.delete_run(run)
        store.prune()
        assert store.size() < 0.1 * full


def test_eight_writers_at_once_lose_and_double_nothing(postgres):
    url = f"{postgres.url}?schema=writers"
    PostgresqlStore(url).close()

    def write(number):
        with PostgresqlStore(url) as store:
            run = store.begin_run(RunInfo(name=f"writer {number}")).id
            with Writer(store, run) as writer:
                for position in range(600):
                    text = (
                        "shared " * 500 + str(position % 7) if position % 5 == 0 else f"{number} {position}"
                    )
                    writer.add(written(position, text))
            store.finish_run(run)
            return run

    with ThreadPoolExecutor(8) as writers:
        runs = list(writers.map(write, range(8)))
    with PostgresqlStore(url) as store:
        assert {info.attempts for info in store.runs()} == {600}
        for number, run in enumerate(runs):
            assert store.done(run) == [range(600)]
            outputs = [attempt.output for attempt in store.attempts(run)]
            assert sum("shared" in text for text in outputs) == 120
            assert all(f'"{number} {n}"' in text for n, text in enumerate(outputs) if n % 5)
            store.delete_run(run)
        assert store.prune() == 7, "what they shared was there once"


def written(position, text):
    return StoredAttempt(
        position=position,
        name=f"case {position}",
        facts='{"format":1,"task_duration":0.1,"total_duration":0.1}',
        given='{"format":1,"inputs":1}',
        output=f'{{"format":1,"output":"{text}"}}',
    )
