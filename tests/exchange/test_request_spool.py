"""What was acknowledged is on disk until it is stored."""

from calipers.exchange.request_spool import RequestSpool, kept_ids, read_spool


def bodies(folder):
    return [(entry.segment, entry.kind, entry.body) for entry in read_spool(folder)]


def test_what_is_written_is_read_in_order(tmp_path):
    spool = RequestSpool(tmp_path / "run")
    assert spool.write([("P", b"one"), ("J", b"{}")]) == 1
    spool.mark_kept([5, 1 << 127])
    assert bodies(spool.folder)[:2] == [(1, "P", b"one"), (1, "J", b"{}")]
    assert kept_ids(list(read_spool(spool.folder))[2]) == [5, 1 << 127]
    spool.close()


def test_an_entry_that_is_cut_off_was_never_acknowledged(tmp_path):
    spool = RequestSpool(tmp_path)
    spool.write([("P", b"one"), ("P", b"two")])
    spool.close()
    (segment,) = tmp_path.iterdir()
    segment.write_bytes(segment.read_bytes()[:-1])
    assert bodies(tmp_path) == [(1, "P", b"one")]


def test_segments_that_no_trace_waits_for_are_removed(tmp_path):
    spool = RequestSpool(tmp_path, segment_bytes=1)
    assert [spool.write([("P", b"x")]) for _ in range(3)] == [1, 2, 3]
    spool.release(2)
    assert [segment for segment, *_ in bodies(tmp_path)] == [2, 3]
    spool.release(9)
    assert [segment for segment, *_ in bodies(tmp_path)] == [3]
    spool.close()


def test_a_spool_goes_on_in_a_new_segment_and_goes_away_as_a_whole(tmp_path):
    first = RequestSpool(tmp_path / "received" / "run")
    first.write([("P", b"x")])
    first.close()
    again = RequestSpool(first.folder)
    assert again.write([("P", b"y")]) == 2
    assert len(bodies(first.folder)) == 2
    again.remove()
    assert not list(tmp_path.iterdir())
