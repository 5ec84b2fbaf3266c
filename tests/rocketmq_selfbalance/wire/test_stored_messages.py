"""Stored records: what is written is read again, whatever its topic, hosts and properties."""

from hypothesis import given
from hypothesis import strategies as st

from rocketmq_selfbalance.wire.stored_messages import Record, Stored, decode, encode, host, message_id

HOSTS = st.builds(host, st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).map(str), st.integers(0, 65_535))
WHOLE, LONG = st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1)
RECORDS = st.builds(
    Record,
    topic=st.text("abc%-_", min_size=1, max_size=200),
    queue_number=WHOLE,
    flag=WHOLE,
    sys_flag=st.just(0),
    born=LONG,
    born_host=HOSTS,
    reconsume_times=WHOLE,
    properties=st.text(max_size=40),
    body=st.binary(max_size=40),
)


@given(record=RECORDS, offset=LONG, position=LONG, stored=LONG, store_host=HOSTS)
def test_a_record_is_read_as_it_was_written(
    record: Record, offset: int, position: int, stored: int, store_host: bytes
) -> None:
    content = encode(record, offset, position, stored, store_host)
    read = decode(content)
    assert len(content) == int.from_bytes(content[:4])
    flags = (16 if len(record.born_host) > 8 else 0) | (32 if len(store_host) > 8 else 0)
    assert read == Stored(record._replace(sys_flag=flags), offset, position, read.crc, stored, store_host)
    assert message_id(store_host, position) == (store_host + position.to_bytes(8)).hex().upper()
