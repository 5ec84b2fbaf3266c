import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.protocol.Errors;

/** The coordinator's answers in the form of traces (tests/golden/kafka/FORMAT-coordinator.md). */
final class StoryAnswers {
    private static final ObjectMapper JSON = new ObjectMapper();

    private StoryAnswers() { }

    static JsonNode failed(Throwable error) {
        Throwable cause = error.getCause() == null ? error : error.getCause();
        Errors known = Errors.forException(cause);
        if (known != Errors.UNKNOWN_SERVER_ERROR) return JSON.createObjectNode().put("error", known.name());
        return JSON.createObjectNode().put("error", "UNKNOWN_SERVER_ERROR").put("exception", cause.getClass().getSimpleName());
    }

    static JsonNode of(Object answer, Map<Uuid, String> topics) {
        if (answer instanceof JoinGroupResponseData join) return joined(join);
        if (answer instanceof SyncGroupResponseData sync)
            return error(sync.errorCode()).put("protocol_type", sync.protocolType()).put("protocol", sync.protocolName())
                .put("assignment", assignment(sync.assignment()));
        if (answer instanceof HeartbeatResponseData beat) return error(beat.errorCode());
        if (answer instanceof LeaveGroupResponseData leave) {
            ObjectNode told = error(leave.errorCode());
            ArrayNode members = told.putArray("members");
            leave.members().forEach(each -> members.addObject().put("member_id", each.memberId())
                .put("instance_id", each.groupInstanceId()).put("error", Errors.forCode(each.errorCode()).name()));
            return told;
        }
        if (answer instanceof OffsetCommitResponseData commit) {
            ObjectNode told = JSON.createObjectNode();
            ArrayNode results = told.putArray("results");
            commit.topics().forEach(topic -> topic.partitions().forEach(each -> results.addArray().add(topic.name())
                .add(each.partitionIndex()).add(Errors.forCode(each.errorCode()).name())));
            return told;
        }
        if (answer instanceof ConsumerGroupHeartbeatResponseData beat) {
            ObjectNode told = error(beat.errorCode()).put("member_id", beat.memberId()).put("member_epoch", beat.memberEpoch())
                .put("heartbeat_interval_ms", beat.heartbeatIntervalMs());
            if (beat.assignment() == null) return told.putNull("assignment");
            List<Pair> pairs = new ArrayList<>();
            beat.assignment().topicPartitions().forEach(each -> each.partitions().forEach(
                number -> pairs.add(new Pair(topics.get(each.topicId()), number))));
            told.set("assignment", sorted(pairs));
            return told;
        }
        if (answer instanceof OffsetFetchResponseData.OffsetFetchResponseGroup fetched) {
            ObjectNode told = error(fetched.errorCode());
            if (fetched.errorCode() != 0) return told;
            List<JsonNode> results = new ArrayList<>();
            fetched.topics().forEach(topic -> topic.partitions().forEach(each -> results.add(JSON.createArrayNode().add(topic.name())
                .add(each.partitionIndex()).add(each.committedOffset()).add(Errors.forCode(each.errorCode()).name()))));
            results.sort(Comparator.comparing((JsonNode each) -> each.get(0).asText()).thenComparing(each -> each.get(1).asInt()));
            told.putArray("results").addAll(results);
            return told;
        }
        if (answer instanceof OffsetDeleteResponseData deleted) {
            ObjectNode told = error(deleted.errorCode());
            ArrayNode results = told.putArray("results");
            deleted.topics().forEach(topic -> topic.partitions().forEach(each -> results.addArray().add(topic.name())
                .add(each.partitionIndex()).add(Errors.forCode(each.errorCode()).name())));
            return told;
        }
        if (answer instanceof DeleteGroupsResponseData.DeletableGroupResultCollection deleted)
            return error(deleted.iterator().next().errorCode());
        if (answer instanceof ListGroupsResponseData listed) {
            ObjectNode told = error(listed.errorCode());
            ArrayNode groups = told.putArray("groups");
            listed.groups().stream().sorted(Comparator.comparing(ListGroupsResponseData.ListedGroup::groupId)).forEach(each ->
                groups.addObject().put("group_id", each.groupId()).put("protocol_type", each.protocolType())
                    .put("state", each.groupState()).put("type", each.groupType().toLowerCase()));
            return told;
        }
        Object described = ((List<?>) answer).get(0);
        return described instanceof ConsumerGroupDescribeResponseData.DescribedGroup group ? described(group)
            : described((DescribeGroupsResponseData.DescribedGroup) described);
    }

    private static ObjectNode joined(JoinGroupResponseData join) {
        ObjectNode told = error(join.errorCode()).put("generation", join.generationId()).put("member_id", join.memberId())
            .put("leader", join.leader()).put("protocol_type", join.protocolType()).put("protocol", join.protocolName())
            .put("skip_assignment", join.skipAssignment());
        ArrayNode members = told.putArray("members");
        join.members().forEach(each ->
            members.addObject().put("member_id", each.memberId()).put("instance_id", each.groupInstanceId())
                .set("metadata", topics(each.metadata())));
        return told;
    }

    private static ObjectNode described(ConsumerGroupDescribeResponseData.DescribedGroup group) {
        ObjectNode told = error(group.errorCode()).put("state", group.groupState()).put("group_epoch", group.groupEpoch())
            .put("assignment_epoch", group.assignmentEpoch()).put("assignor", group.assignorName());
        ArrayNode members = told.putArray("members");
        group.members().forEach(each -> {
            ObjectNode member = members.addObject().put("member_id", each.memberId()).put("instance_id", each.instanceId())
                .put("member_epoch", each.memberEpoch()).put("member_type", each.memberType());
            ArrayNode subscribed = member.putArray("subscribed");
            each.subscribedTopicNames().stream().sorted().forEach(subscribed::add);
            member.put("regex", each.subscribedTopicRegex() == null ? "" : each.subscribedTopicRegex());
            member.set("assignment", sorted(pairs(each.assignment())));
            member.set("target_assignment", sorted(pairs(each.targetAssignment())));
        });
        return told;
    }

    private static ObjectNode described(DescribeGroupsResponseData.DescribedGroup group) {
        ObjectNode told = error(group.errorCode()).put("state", group.groupState()).put("protocol_type", group.protocolType())
            .put("protocol", group.protocolData());
        ArrayNode members = told.putArray("members");
        group.members().forEach(each -> {
            ObjectNode member = members.addObject().put("member_id", each.memberId()).put("instance_id", each.groupInstanceId())
                .put("client_id", each.clientId());
            member.set("metadata", topics(each.memberMetadata()));
            member.put("assignment", assignment(each.memberAssignment()));
        });
        return told;
    }

    private record Pair(String topic, int number) { }

    private static List<Pair> pairs(ConsumerGroupDescribeResponseData.Assignment assignment) {
        List<Pair> pairs = new ArrayList<>();
        assignment.topicPartitions().forEach(each -> each.partitions().forEach(number -> pairs.add(new Pair(each.topicName(), number))));
        return pairs;
    }

    private static ArrayNode sorted(List<Pair> pairs) {
        ArrayNode told = JSON.createArrayNode();
        pairs.stream().sorted(Comparator.comparing(Pair::topic).thenComparing(Pair::number))
            .forEach(each -> told.addArray().add(each.topic()).add(each.number()));
        return told;
    }

    private static JsonNode topics(byte[] metadata) {
        if (metadata.length == 0) return JSON.nullNode();
        ArrayNode told = JSON.createArrayNode();
        ConsumerProtocol.deserializeSubscription(ByteBuffer.wrap(metadata)).topics().forEach(told::add);
        return told;
    }

    static String assignment(byte[] bytes) {
        if (bytes.length == 0) return "";
        List<String> partitions = new ArrayList<>();
        ConsumerProtocol.deserializeAssignment(ByteBuffer.wrap(bytes)).partitions().stream() // of a map of topics, in no order
            .sorted(Comparator.comparing(TopicPartition::topic).thenComparing(TopicPartition::partition))
            .forEach(each -> partitions.add(each.toString()));
        return "P:" + String.join(",", partitions);
    }

    private static ObjectNode error(short code) {
        return JSON.createObjectNode().put("error", Errors.forCode(code).name());
    }
}
