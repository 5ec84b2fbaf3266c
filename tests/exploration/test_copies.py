"""Copies of the systems' own nodes."""

from compare.running.systems import cluster_of, read
from compare.running.variants import variants_of
from protocols.engine.exploration.rules import Keys
from protocols.scenario.running import Run
from tests.rows import rows

SCENARIO = "examples/scenarios/join-crash-leave-commit.yaml"


@rows("name", ["kafka:range", "kafka:uniform", "kafka-zookeeper:range", "rocketmq:AVG"])
def test_a_copy_stays_as_it_was_while_its_node_goes_on(name: str) -> None:
    [variant] = variants_of(read(SCENARIO), [name])
    run = Run.of(variant.scenario, variant.part, cluster_of(variant.part.system), full=True)
    keys = Keys()
    changed = set()
    for seconds in (20, 31, 95, 201):
        run.simulation.run(seconds * 1000.0)
        nodes = {process: each.node for process, each in run.simulation.processes.items()}
        copies = {process: node.copy() for process, node in nodes.items()}
        before = {process: keys.key(copy) for process, copy in copies.items()}
        assert before == {process: keys.key(copy.copy()) for process, copy in copies.items()}
        run.simulation.run(seconds * 1000.0 + 5_000.0)
        assert before == {process: keys.key(copy) for process, copy in copies.items()}
        changed |= {process for process, node in nodes.items() if keys.key(node) != before[process]}
    assert len(changed) > 2
