"""The streams of a log by name: which there are, which grow, and which are held against the witness."""

from events.subjects import CONTROL, FACTS, decisions_stream, devices_stream

PARTITION, DEVICE_PARTITION = decisions_stream("0"), devices_stream("default")
STREAMS = (CONTROL, FACTS, PARTITION, DEVICE_PARTITION)
WITNESSED = (PARTITION, DEVICE_PARTITION, FACTS, CONTROL)
ROLLED = (PARTITION, DEVICE_PARTITION, FACTS)
"""The streams that grow: what people enter on CONTROL stays few, and is read from its beginning by all."""
