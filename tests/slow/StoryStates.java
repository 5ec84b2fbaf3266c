import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.GroupCoordinatorService;
import org.apache.kafka.coordinator.group.classic.ClassicGroup;
import org.apache.kafka.coordinator.group.classic.ClassicGroupMember;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember;

/** The coordinator's groups in the form of traces (tests/golden/kafka/FORMAT-coordinator.md), read out of its fields. */
final class StoryStates {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final GroupCoordinatorService service;
    private final Map<Uuid, String> topics;
    private final long start;

    StoryStates(GroupCoordinatorService service, Map<Uuid, String> topics, long start) {
        this.service = service;
        this.topics = topics;
        this.start = start;
    }

    /** Of these groups `state`, and `inner` of those of the consumer protocol. */
    ObjectNode of(Collection<String> ids) throws ReflectiveOperationException {
        ObjectNode told = JSON.createObjectNode(), states = told.putObject("state"), inner = told.putObject("inner");
        Map<?, ?> contexts = (Map<?, ?>) field(field(service, "runtime"), "coordinators");
        Map<?, ?> groups = Map.of();
        for (Object context : contexts.values())
            groups = (Map<?, ?>) field(field(field(field(context, "coordinator"), "coordinator"), "groupMetadataManager"), "groups");
        for (String id : ids) {
            Object group = groups.get(id);
            if (group instanceof ClassicGroup classic) states.set(id, classic(classic));
            else if (group instanceof ConsumerGroup consumer) {
                states.set(id, consumer(consumer));
                inner.set(id, inner(consumer));
            } else states.putNull(id);
        }
        return told;
    }

    static Object field(Object of, String name) throws ReflectiveOperationException {
        for (Class<?> type = of.getClass(); type != null; type = type.getSuperclass())
            for (Field field : type.getDeclaredFields())
                if (field.getName().equals(name)) {
                    field.setAccessible(true);
                    return field.get(of);
                }
        throw new NoSuchFieldException(name);
    }

    private ObjectNode classic(ClassicGroup group) throws ReflectiveOperationException {
        ObjectNode told = JSON.createObjectNode().put("type", "classic").put("state", group.currentState().toString())
            .put("generation", group.generationId()).put("leader", group.leaderOrNull())
            .put("protocol_type", group.protocolType().orElse(null)).put("protocol", group.protocolName().orElse(null));
        ObjectNode members = told.putObject("members");
        ArrayNode order = told.putArray("member_order");
        for (ClassicGroupMember member : group.allMembers()) {
            order.add(member.memberId());
            ObjectNode one = members.putObject(member.memberId()).put("instance_id", member.groupInstanceId().orElse(null))
                .put("session_timeout_ms", member.sessionTimeoutMs()).put("rebalance_timeout_ms", member.rebalanceTimeoutMs());
            ArrayNode protocols = one.putArray("protocols");
            member.supportedProtocols().forEach(each -> protocols.add(each.name()));
            one.put("awaiting_join", member.isAwaitingJoin()).put("awaiting_sync", member.isAwaitingSync())
                .put("assignment", StoryAnswers.assignment(member.assignment()));
        }
        told.put("num_pending_join", group.numPendingJoinMembers());
        ArrayNode syncing = told.putArray("pending_sync");
        group.allPendingSyncMembers().stream().sorted().forEach(syncing::add);
        told.put("new_member_added", group.newMemberAdded());
        java.util.Optional<?> subscribed = (java.util.Optional<?>) field(group, "subscribedTopics");
        if (subscribed.isEmpty()) return told.putNull("subscribed_topics");
        told.set("subscribed_topics", strings((Set<?>) subscribed.get()));
        return told;
    }

    private ObjectNode consumer(ConsumerGroup group) throws ReflectiveOperationException {
        ObjectNode told = JSON.createObjectNode().put("type", "consumer").put("state", group.state().toString())
            .put("group_epoch", group.groupEpoch()).put("assignment_epoch", group.assignmentEpoch())
            .put("preferred_assignor", group.preferredServerAssignor().orElse(null));
        ObjectNode members = told.putObject("members");
        for (ConsumerGroupMember member : group.members().values()) {
            String regex = member.subscribedTopicRegex();
            ObjectNode one = members.putObject(member.memberId()).put("instance_id", member.instanceId())
                .put("member_epoch", member.memberEpoch()).put("previous_member_epoch", member.previousMemberEpoch())
                .put("state", member.state().name()).put("regex", regex == null ? "" : regex)
                .put("assignor", member.serverAssignorName().orElse(null)).put("rebalance_timeout_ms", member.rebalanceTimeoutMs());
            one.set("subscribed", strings(member.subscribedTopicNames()));
            one.set("assigned", pairs((Map<?, ?>) field(member, "assignedPartitions"), false));
            one.set("pending_revocation", pairs((Map<?, ?>) field(member, "partitionsPendingRevocation"), false));
            one.set("target", pairs(group.targetAssignment(member.memberId()).partitions(), false));
            one.put("classic_protocol", member.useClassicProtocol());
        }
        return told;
    }

    private ObjectNode inner(ConsumerGroup group) throws ReflectiveOperationException {
        ObjectNode told = JSON.createObjectNode();
        try {
            long at = (long) group.getClass().getMethod("assignmentTimestamp").invoke(group);
            if (at <= 0) told.putNull("assigned_at");
            else told.put("assigned_at", at - start);
        } catch (NoSuchMethodException before43) {
            return told; // nor has a partition an epoch of its own
        }
        ObjectNode epochs = told.putObject("partition_epochs");
        for (ConsumerGroupMember member : group.members().values()) {
            List<JsonNode> held = new ArrayList<>();
            pairs((Map<?, ?>) field(member, "assignedPartitions"), true).forEach(held::add);
            pairs((Map<?, ?>) field(member, "partitionsPendingRevocation"), true).forEach(held::add);
            held.sort(java.util.Comparator.comparing((JsonNode each) -> each.get(0).asText()).thenComparing(each -> each.get(1).asInt()));
            if (!held.isEmpty()) epochs.putArray(member.memberId()).addAll(held);
        }
        if (!group.resolvedRegularExpressions().isEmpty()) {
            ObjectNode regexes = told.putObject("regexes");
            for (Map.Entry<String, ?> each : group.resolvedRegularExpressions().entrySet())
                regexes.set(each.getKey(), strings((Collection<?>) field(each.getValue(), "topics")));
        }
        return told;
    }

    private static ArrayNode strings(Collection<?> texts) {
        ArrayNode told = JSON.createArrayNode();
        texts.stream().map(String.class::cast).sorted().forEach(told::add);
        return told;
    }

    /** Sorted; `with` the epoch of each. */
    private ArrayNode pairs(Map<?, ?> partitions, boolean withEpoch) {
        Map<String, TreeMap<Integer, Object>> sorted = new TreeMap<>();
        partitions.forEach((id, numbers) -> {
            TreeMap<Integer, Object> of = sorted.computeIfAbsent(topics.get(id), name -> new TreeMap<>());
            if (numbers instanceof Map<?, ?> epochs) epochs.forEach((number, epoch) -> of.put((Integer) number, epoch));
            else ((Collection<?>) numbers).forEach(number -> of.put((Integer) number, 0));
        });
        ArrayNode told = JSON.createArrayNode();
        sorted.forEach((topic, of) -> of.forEach((number, epoch) -> {
            ArrayNode one = told.addArray().add(topic).add(number);
            if (withEpoch) one.add((Integer) epoch);
        }));
        return told;
    }
}
