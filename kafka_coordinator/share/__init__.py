"""Share groups at the brokers (spec share): who has which record, for how long, and what of it outlives the leader."""

from kafka_coordinator.share.acknowledging import acknowledge as acknowledge
from kafka_coordinator.share.acknowledging import release_acquired as release_acquired
from kafka_coordinator.share.acquiring import AcquisitionError as AcquisitionError
from kafka_coordinator.share.acquiring import acquire as acquire
from kafka_coordinator.share.leader import Call as Call
from kafka_coordinator.share.leader import ShareLeader as ShareLeader
from kafka_coordinator.share.partition import Change as Change
from kafka_coordinator.share.partition import DeadLetter as DeadLetter
from kafka_coordinator.share.partition import Limits as Limits
from kafka_coordinator.share.partition import Phase as Phase
from kafka_coordinator.share.partition import SharePartition as SharePartition
from kafka_coordinator.share.persister import Kept as Kept
from kafka_coordinator.share.records import Entry as Entry
from kafka_coordinator.share.records import Persisted as Persisted
from kafka_coordinator.share.records import State as State
