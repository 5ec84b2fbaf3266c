"""Java's orders, against the test values of spec kafka 5.1 and what the JVM documents."""

from protocols.java import (
    entry_order,
    grown_size,
    sorted_as_java,
    sorted_pairs,
    spread,
    string_entry_order,
    string_hash,
)


def test_hash_codes() -> None:
    assert [string_hash(f"C{n}") for n in range(4)] == [2125, 2126, 2127, 2128]
    assert string_hash("") == 0
    assert string_hash("\U0001f600") == (0xD83D * 31 + 0xDE00) & 0xFFFFFFFF
    assert string_hash("polygenelubricants") == 0x80000000


def test_entry_order_of_strings() -> None:
    assert string_entry_order(["C0", "C1", "C2", "C3"]) == ["C3", "C0", "C1", "C2"]
    given = ["member-10", "member-9", "member-1", "a", "Z"]
    assert string_entry_order(given) == ["a", "member-1", "Z", "member-9", "member-10"]
    topics = [f"t{n}" for n in range(12)]
    assert string_entry_order(topics) == [f"t{n}" for n in (4, 5, 6, 10, 7, 8, 9, 11, 0, 1, 2, 3)]


def test_a_table_doubles_beyond_three_quarters() -> None:
    assert [grown_size(n) for n in (0, 12, 13, 24, 25)] == [16, 16, 32, 32, 64]
    assert spread(0x10000) == 0x10001


def test_keys_of_one_bin_keep_the_order_of_insertion() -> None:
    assert entry_order([33, 17, 1, 0], lambda key: key) == [0, 33, 17, 1]


def test_strings_compare_by_utf16_unit() -> None:
    assert sorted_as_java(["c2", "c10", "C3"]) == ["C3", "c10", "c2"]
    assert sorted_as_java(["\ue000", "\U00010000"]) == ["\U00010000", "\ue000"]
    assert sorted_as_java(["\uffff", "\U0010ffff", "\ud7ff", "z"]) == ["z", "\ud7ff", "\U0010ffff", "\uffff"]


def test_pairs_compare_by_the_text_in_utf16_units_then_by_number() -> None:
    assert sorted_pairs([("b", 10), ("b", 9), ("B", 3)]) == [("B", 3), ("b", 9), ("b", 10)]
    pairs = [("\ufb00", 0), ("\U0001f600", 2), ("\U0001f600", 1), ("t", 5)]
    assert sorted_pairs(pairs) == [("t", 5), ("\U0001f600", 1), ("\U0001f600", 2), ("\ufb00", 0)]
