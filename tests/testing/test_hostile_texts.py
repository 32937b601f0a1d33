"""The texts that whatever shows text of others is tried with."""

from calipers.testing import HOSTILE_TEXTS


def test_each_is_told_from_the_others_by_its_mark():
    assert len(HOSTILE_TEXTS) >= 50
    assert len({each.text for each in HOSTILE_TEXTS}) == len({each.aim for each in HOSTILE_TEXTS}) == 86
    for each in HOSTILE_TEXTS:
        assert [other.mark for other in HOSTILE_TEXTS if other.mark in each.text] == [each.mark]


def test_what_every_reader_sees_stands_in_the_text_on_one_line():
    for each in HOSTILE_TEXTS:
        assert each.plain in each.text
        assert len(each.plain) >= len(each.mark)
        assert each.plain.isascii()
        assert each.plain.isprintable()
