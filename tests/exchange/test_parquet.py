"""Tables as Parquet files, in pieces."""

import io

import pyarrow.parquet as pq

from calipers.exchange.tables import Column, parquet_chunks

COLUMNS = (Column("n", "integer"), Column("text"))


def read(chunks):
    return pq.ParquetFile(io.BytesIO(b"".join(chunks)))


def test_many_rows_are_written_group_by_group():
    file = read(parquet_chunks(COLUMNS, ([n, "x"] for n in range(45_000)), {"a": "b"}))
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [
        20_000,
        20_000,
        5_000,
    ]
    assert file.read().column("n").to_pylist() == list(range(45_000))
    assert file.schema_arrow.metadata == {b"a": b"b"}


def test_large_rows_are_written_before_they_pile_up():
    large = "x" * (1 << 24)
    taken = []

    def rows():
        for n in range(5):
            taken.append(n)
            yield [n, large]

    chunks = parquet_chunks(COLUMNS, rows(), {})
    first = next(chunks)
    assert taken == [0, 1], "the third is not read before the first two are written"
    file = read([first, *chunks])
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [2, 2, 1]
