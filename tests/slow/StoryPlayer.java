import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.yammer.metrics.core.MetricsRegistry;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorLoader;
import org.apache.kafka.coordinator.common.runtime.CoordinatorPlayback;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntimeMetrics;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntimeMetricsImpl;
import org.apache.kafka.coordinator.common.runtime.PartitionWriter;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.GroupCoordinatorService;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.TopicImage;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.share.persister.NoOpStatePersister;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.server.util.timer.TimerTaskEntry;
import org.apache.kafka.storage.internals.log.LogConfig;

/**
 * Plays traces of requests on the group coordinator of the Kafka on the class path: its released service, runtime, shard
 * and records. Stand-ins: the clock, the timer, the log (in memory, committed at once). Reads a trace a line (format:
 * tests/golden/kafka/FORMAT-coordinator.md), writes it with the coordinator's own answers and, unless it wants answers
 * only, its states. `makes`: the step of a join to the symbol of the id that it may make up. What differs between the
 * versions is called by reflection.
 */
public final class StoryPlayer {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long START = 1_000_000;

    /** Virtual time, and what is due in it: timers fire in order of time, then of creation. */
    private static final class Clock implements Time, Timer {
        private volatile long now = START;
        private final TreeMap<Long, List<TimerTaskEntry>> due = new TreeMap<>();

        @Override public long milliseconds() { return now; }
        @Override public long nanoseconds() { return now * 1_000_000; }
        @Override public void sleep(long ms) { }
        @Override public void waitObject(Object object, Supplier<Boolean> condition, long deadline) {
            throw new UnsupportedOperationException();
        }
        @Override public synchronized void add(TimerTask task) {
            long at = now + Math.max(0, task.delayMs);
            due.computeIfAbsent(at, time -> new ArrayList<>()).add(new TimerTaskEntry(task, at));
        }
        @Override public boolean advanceClock(long timeout) { return false; }
        @Override public int size() { return due.size(); }
        @Override public void close() { }

        /** The next task that is due until then, with the clock at its time; null: none. */
        private synchronized TimerTask next(long until) {
            while (!due.isEmpty() && due.firstKey() <= until) {
                long at = due.firstKey();
                List<TimerTaskEntry> entries = due.get(at);
                TimerTaskEntry entry = entries.remove(0);
                if (entries.isEmpty()) due.remove(at);
                if (!entry.cancelled()) {
                    now = Math.max(now, at);
                    return entry.timerTask;
                }
            }
            return null;
        }
    }

    private final Clock clock = new Clock();
    private final GroupCoordinatorService service;
    private final List<Written> log = new ArrayList<>();
    private final Map<String, String> real = new HashMap<>(), symbols = new HashMap<>(), symbolOf = new HashMap<>();
    private final Map<Uuid, String> topics = new HashMap<>();
    private final Map<Integer, CompletableFuture<JsonNode>> parked = new LinkedHashMap<>();
    private final Map<Integer, Long> answeredAt = new HashMap<>();
    private final Map<Integer, JsonNode> expected = new HashMap<>();
    private final Set<String> groups = new LinkedHashSet<>();
    private final StoryStates states;
    private final GroupConfigManager groupConfigs;
    private final boolean tellsInner;
    private JsonNode makes, reported, reportedInner = JSON.createObjectNode();
    private ArrayNode timeline;
    private MetadataImage image = MetadataImage.EMPTY;
    private PartitionWriter.Listener listener;
    private final ExecutorService matcher;
    private int epoch = 0, images = 0;

    private StoryPlayer(JsonNode trace) throws Exception {
        Map<String, String> settings = new HashMap<>();
        trace.get("config").properties().forEach(each -> settings.put(each.getKey(), each.getValue().asText()));
        settings.put("group.coordinator.append.linger.ms", "0");
        settings.put("group.coordinator.threads", "1");
        settings.put("offsets.topic.num.partitions", "1");
        GroupCoordinatorConfig config = GroupCoordinatorConfig.fromProps(settings);
        Metrics metrics = new Metrics(clock);
        groupConfigs = configManager(config, settings);
        GroupCoordinatorService.Builder builder = new GroupCoordinatorService.Builder(1, config);
        for (Method method : builder.getClass().getMethods())
            if (method.getName().equals("withPartitionMetadataClient")) // since 4.2; for deletions alone
                method.invoke(builder, Proxy.newProxyInstance(getClass().getClassLoader(), method.getParameterTypes(), (proxy, called, given) -> null));
        service = builder
            .withTime(clock).withTimer(clock).withLoader(new Loader()).withWriter(writer(trace.get("config").path("message.max.bytes").asInt(1_048_588)))
            .withCoordinatorRuntimeMetrics(runtimeMetrics(metrics))
            .withGroupCoordinatorMetrics(new GroupCoordinatorMetrics(new MetricsRegistry(), metrics))
            .withGroupConfigManager(groupConfigs)
            .withPersister(new NoOpStatePersister()).withAuthorizerPlugin(Optional.empty()).build();
        trace.get("ids").properties().forEach(each -> symbolOf.put(each.getValue().asText(), each.getKey()));
        trace.get("topic_ids").properties().forEach(each -> topics.put(Uuid.fromString(each.getValue().asText()), each.getKey()));
        matcher = (ExecutorService) StoryStates.field(StoryStates.field(service, "runtime"), "executorService");
        states = trace.path("answers_only").asBoolean() ? null : new StoryStates(service, topics, START);
        makes = trace.path("makes");
        tellsInner = trace.has("kafka");
        service.startup(() -> 1);
        service.onElection(0, epoch);
        setTopics(trace.get("topics"), trace.get("topic_ids"));
        settle();
    }

    private static CoordinatorRuntimeMetrics runtimeMetrics(Metrics metrics) throws Exception {
        Object[] arguments = {metrics, "group-coordinator-metrics", false};
        var made = CoordinatorRuntimeMetricsImpl.class.getConstructors()[0];
        return (CoordinatorRuntimeMetrics) made.newInstance(Arrays.copyOf(arguments, made.getParameterCount()));
    }

    private static GroupConfigManager configManager(GroupCoordinatorConfig config, Map<String, String> settings) throws Exception {
        var made = GroupConfigManager.class.getConstructors()[0];
        List<Object> given = new ArrayList<>(); // before 4.3 the settings of groups alone, in 4.3 all three
        for (Class<?> type : made.getParameterTypes())
            given.add(type == Map.class ? Map.of() : type.isInstance(config) ? config : type.getMethod("fromProps", Map.class).invoke(null, settings));
        return (GroupConfigManager) made.newInstance(given.toArray());
    }

    /** The log, committed as soon as it is written; no batch of it has more bytes than `most`. */
    private PartitionWriter writer(int most) {
        return (PartitionWriter) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {PartitionWriter.class},
            (proxy, method, arguments) -> switch (method.getName()) {
                case "registerListener" -> {
                    listener = (PartitionWriter.Listener) arguments[1];
                    yield null;
                }
                case "deregisterListener" -> null;
                case "config" -> new LogConfig(new Properties());
                case "append" -> {
                    if ((int) arguments[2].getClass().getMethod("sizeInBytes").invoke(arguments[2]) > most)
                        throw new RecordTooLargeException("more than " + most);
                    for (Object record : (Iterable<?>) arguments[2].getClass().getMethod("records").invoke(arguments[2]))
                        log.add(new Written(part(record, "key"), part(record, "value")));
                    listener.onHighWatermarkUpdated((TopicPartition) arguments[0], log.size());
                    yield (long) log.size();
                }
                case "deleteRecords" -> CompletableFuture.completedFuture(null);
                default -> throw new UnsupportedOperationException(method.getName());
            });
    }

    /** A record's bytes: the buffer in which it comes is used again. */
    private record Written(byte[] key, byte[] value) { }

    private static byte[] part(Object record, String name) throws ReflectiveOperationException {
        for (Class<?> type : record.getClass().getInterfaces())
            if (type.getSimpleName().equals("Record")) {
                ByteBuffer buffer = (ByteBuffer) type.getMethod(name).invoke(record);
                return buffer == null ? null : bytes(buffer);
            }
        throw new IllegalStateException("no record: " + record.getClass());
    }

    /** Reads the log again for a coordinator that takes over. */
    private final class Loader implements CoordinatorLoader<CoordinatorRecord> {
        @Override
        public CompletableFuture<LoadSummary> load(TopicPartition of, CoordinatorPlayback<CoordinatorRecord> playback) {
            try {
                long offset = 0;
                for (Written record : log) {
                    ByteBuffer value = record.value == null ? null : ByteBuffer.wrap(record.value);
                    playback.replay(offset++, -1L, (short) -1, new GroupCoordinatorRecordSerde().deserialize(ByteBuffer.wrap(record.key), value));
                }
                if (!log.isEmpty()) {
                    playback.updateLastWrittenOffset((long) log.size());
                    playback.updateLastCommittedOffset((long) log.size());
                }
                return CompletableFuture.completedFuture(new LoadSummary(0, 0, 0, log.size(), 0));
            } catch (RuntimeException error) {
                return CompletableFuture.failedFuture(error);
            }
        }

        @Override public void close() { }
    }

    /** The cluster has exactly these topics from now on; no partition goes without its topic. */
    private void setTopics(JsonNode counts, JsonNode ids) throws Exception {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        for (TopicImage known : image.topics().topicsByName().values())
            if (!counts.has(known.name())) delta.replay(new RemoveTopicRecord().setTopicId(known.id()));
        for (Map.Entry<String, JsonNode> topic : counts.properties()) {
            Uuid id = Uuid.fromString(ids.get(topic.getKey()).asText());
            TopicImage known = image.topics().getTopic(id);
            if (known == null) delta.replay(new TopicRecord().setName(topic.getKey()).setTopicId(id));
            for (int number = known == null ? 0 : known.partitions().size(); number < topic.getValue().asInt(); number++)
                delta.replay(new PartitionRecord().setTopicId(id).setPartitionId(number).setLeader(1)
                    .setReplicas(List.of(1)).setIsr(List.of(1)).setLeaderEpoch(0).setPartitionEpoch(0));
        }
        image = delta.apply(new MetadataProvenance(++images, 0, 0, true));
        for (Method method : GroupCoordinatorService.class.getMethods()) {
            if (method.getName().equals("onNewMetadataImage")) method.invoke(service, inType(method, 0, image), inType(method, 1, delta));
            if (method.getName().equals("onMetadataUpdate")) method.invoke(service, delta, image);
        }
    }

    /** What a method takes of the metadata: they themselves, or (4.2) its own view of them. */
    private static Object inType(Method method, int at, Object given) throws Exception {
        Class<?> type = method.getParameterTypes()[at];
        if (type.isInstance(given)) return given;
        Class<?> view = Class.forName(type.getPackageName() + ".KRaft" + type.getSimpleName());
        return view.getConstructor(given.getClass()).newInstance(given);
    }

    /** All that is under way has happened: events are handled in order by one thread, patterns are matched by another. */
    private void settle() throws Exception {
        for (int times = 0; times < 3; times++) {
            service.listGroups(context(5, "nobody"), new ListGroupsRequestData()).get(60, TimeUnit.SECONDS);
            if (matcher instanceof ThreadPoolExecutor pool) passAll(pool); // of several threads; of one before 4.3
            else matcher.submit(() -> { }).get(60, TimeUnit.SECONDS);
        }
    }

    /** Each thread of the pool runs a task of ours at the same time, so that all earlier tasks are done. */
    private static void passAll(ThreadPoolExecutor pool) throws Exception {
        CountDownLatch here = new CountDownLatch(pool.getCorePoolSize());
        List<Future<?>> passing = new ArrayList<>();
        for (int number = 0; number < pool.getCorePoolSize(); number++)
            passing.add(pool.submit(() -> {
                here.countDown();
                here.await();
                return null;
            }));
        for (Future<?> each : passing) each.get(60, TimeUnit.SECONDS);
    }

    private void advance(long until) throws Exception {
        settle();
        for (TimerTask task = clock.next(until); task != null; task = clock.next(until)) {
            task.run();
            settle();
            noteAnswers();
            if (timeline != null) noteState();
        }
        clock.now = until;
        if (timeline != null && reported == null) noteState();
    }

    private void noteState() throws Exception {
        ObjectNode entry = JSON.createObjectNode().put("t", clock.now - START);
        if (states != null && changedState(entry, -1)) timeline.add(entry);
    }

    /** Sets `state` and `inner` where they are not as reported; whether the state is not. */
    private boolean changedState(ObjectNode of, int join) throws Exception {
        ObjectNode told = states.of(groups);
        for (JsonNode group : told.get("state"))
            for (Map.Entry<String, JsonNode> member : group.path("members").properties())
                if (makes.has(String.valueOf(join)) && member.getKey().contains("-") && !symbols.containsKey(member.getKey()))
                    named(member.getKey(), makes.get(String.valueOf(join)).asText());
        told = (ObjectNode) symbolic(told);
        boolean isNew = !told.get("state").equals(reported);
        if (isNew) of.set("state", reported = told.get("state"));
        if (tellsInner && !told.get("inner").equals(reportedInner)) of.set("inner", reportedInner = told.get("inner"));
        return isNew;
    }

    private void noteAnswers() {
        parked.forEach((step, answer) -> {
            if (answer.isDone()) answeredAt.putIfAbsent(step, clock.now - START);
        });
    }

    private ObjectNode play(JsonNode trace) throws Exception {
        ArrayNode played = JSON.createArrayNode();
        JsonNode steps = trace.get("steps");
        for (JsonNode step : steps)
            for (JsonNode each : step.path("completed")) expected.put(each.get("step").asInt(), each.get("resp"));
        for (int number = 0; number < steps.size(); number++) {
            JsonNode step = steps.get(number), req = step.get("req");
            String op = step.get("op").asText();
            ObjectNode told = played.addObject().put("n", number).put("t", clock.now - START).put("op", op);
            told.set("req", req);
            if (step.has("resp")) expected.put(number, step.get("resp"));
            if (req.has("group_id") && !op.equals("set_group_config") && !req.get("group_id").asText().isEmpty()) groups.add(req.get("group_id").asText());
            if (op.equals("set_group_config")) {
                Properties config = new Properties();
                req.get("config").properties().forEach(each -> config.put(each.getKey(), each.getValue().asText()));
                groupConfigs.updateGroupConfig(req.get("group_id").asText(), config);
                continue;
            }
            if (op.equals("advance")) {
                timeline = states == null ? null : told.putArray("timeline");
                advance(clock.now + req.get("ms").asLong());
                timeline = null;
            } else if (op.equals("fail_over")) {
                service.onResignation(0, OptionalInt.of(++epoch));
                settleAfterResignation();
                service.onElection(0, ++epoch);
                for (int times = 0; times < 1000 && !answers("GROUP_ID_NOT_FOUND"); times++) {
                    Thread.sleep(5);
                    advance(clock.now);
                }
            } else if (op.equals("set_topics")) {
                setTopics(req.get("topics"), trace.get("topic_ids"));
                advance(clock.now);
            } else {
                parked.put(number, ask(op, req));
                advance(clock.now);
            }
            takeAnswers(number, told, played);
            if (states != null && !op.equals("advance") && !changedState(told, number)) told.put("state", "unchanged");
        }
        service.shutdown();
        ObjectNode result = trace.deepCopy();
        result.remove("makes");
        ObjectNode ids = JSON.createObjectNode();
        trace.get("ids").properties().forEach(id -> ids.put(id.getKey(), real.getOrDefault(id.getKey(), id.getValue().asText())));
        result.set("ids", ids);
        result.set("steps", played);
        return result;
    }

    /** Whether the coordinator answers with this error now about a group that there is not. */
    private boolean answers(String error) throws Exception {
        JsonNode answer = ask("describe_group", JSON.createObjectNode().put("group_id", "loaded")).get(60, TimeUnit.SECONDS);
        return answer.path("error").asText().equals(error);
    }

    private void settleAfterResignation() throws Exception {
        for (int times = 0; times < 1000 && !answers("NOT_COORDINATOR"); times++) Thread.sleep(5);
    }

    private void takeAnswers(int number, ObjectNode told, ArrayNode played) throws Exception {
        noteAnswers();
        ArrayNode completed = JSON.createArrayNode();
        for (Iterator<Map.Entry<Integer, CompletableFuture<JsonNode>>> left = parked.entrySet().iterator(); left.hasNext();) {
            Map.Entry<Integer, CompletableFuture<JsonNode>> each = left.next();
            if (!each.getValue().isDone()) continue;
            left.remove();
            JsonNode answer = withSymbols(each.getKey(), each.getValue().get());
            if (each.getKey() == number) {
                told.set("resp", answer);
                continue;
            }
            completed.addObject().put("step", each.getKey()).put("t", answeredAt.get(each.getKey())).set("resp", answer);
            ((ObjectNode) played.get(each.getKey())).put("completed_at_step", number);
        }
        if (parked.containsKey(number)) told.put("pending", true);
        told.set("completed", completed);
    }

    /** The answer with the trace's symbols for ids that the coordinator has made up, which an answer to a join tells. */
    private JsonNode withSymbols(int number, JsonNode answer) throws Exception {
        String made = answer.path("member_id").asText(""), model = expected.getOrDefault(number, answer).path("member_id").asText("");
        String symbol = symbolOf.getOrDefault(model, model);
        if (!made.isEmpty() && !symbol.isEmpty() && !symbols.containsKey(made)) {
            named(made, symbol);
        }
        JsonNode told = symbolic(answer);
        if (told.path("members").isArray()) {
            List<JsonNode> members = new ArrayList<>();
            told.get("members").forEach(members::add);
            members.sort(Comparator.comparing(member -> member.path("member_id").asText()));
            ((ObjectNode) told).putArray("members").addAll(members);
        }
        return told;
    }

    private void named(String made, String symbol) {
        symbols.put(made, symbol);
        real.put(symbol, made);
    }

    private JsonNode symbolic(JsonNode told) throws Exception {
        String text = JSON.writeValueAsString(told);
        for (Map.Entry<String, String> each : symbols.entrySet())
            text = text.replace(JSON.writeValueAsString(each.getKey()), JSON.writeValueAsString(each.getValue()));
        return JSON.readTree(text);
    }

    private CompletableFuture<JsonNode> ask(String op, JsonNode req) throws Exception {
        String group = req.path("group_id").asText(), member = id(req.path("member_id")), instance = text(req.path("instance_id"));
        AuthorizableRequestContext context = context(req.path("api_version").asInt(op.equals("describe_group") ? 6 : 0), req.path("client_id").asText("client"));
        return switch (op) {
            case "join_group" -> {
                var protocols = new JoinGroupRequestData.JoinGroupRequestProtocolCollection();
                byte[] metadata = bytes(ConsumerProtocol.serializeSubscription(
                    new Subscription(texts(req.get("topics")), null, partitions(req.path("owned")))));
                for (String name : texts(req.get("protocols")))
                    protocols.add(new JoinGroupRequestData.JoinGroupRequestProtocol().setName(name).setMetadata(metadata));
                yield call("joinGroup", context, new JoinGroupRequestData().setGroupId(group).setMemberId(member)
                    .setGroupInstanceId(instance).setSessionTimeoutMs(req.get("session_timeout_ms").asInt())
                    .setRebalanceTimeoutMs(req.get("rebalance_timeout_ms").asInt())
                    .setProtocolType(req.get("protocol_type").asText()).setProtocols(protocols));
            }
            case "sync_group" -> {
                List<SyncGroupRequestData.SyncGroupRequestAssignment> given = new ArrayList<>();
                for (Map.Entry<String, JsonNode> each : req.get("assignments").properties())
                    given.add(new SyncGroupRequestData.SyncGroupRequestAssignment()
                        .setMemberId(real.getOrDefault(each.getKey(), each.getKey())).setAssignment(assignment(each.getValue().asText())));
                yield call("syncGroup", context, new SyncGroupRequestData().setGroupId(group).setMemberId(member)
                    .setGroupInstanceId(instance).setGenerationId(req.get("generation").asInt())
                    .setProtocolType(text(req.get("protocol_type"))).setProtocolName(text(req.get("protocol"))).setAssignments(given));
            }
            case "heartbeat" -> call("heartbeat", context, new HeartbeatRequestData().setGroupId(group).setMemberId(member)
                .setGroupInstanceId(instance).setGenerationId(req.get("generation").asInt()));
            case "leave_group" -> {
                List<LeaveGroupRequestData.MemberIdentity> leaving = new ArrayList<>();
                for (JsonNode each : req.get("members"))
                    leaving.add(new LeaveGroupRequestData.MemberIdentity().setMemberId(id(each.get("member_id")))
                        .setGroupInstanceId(text(each.get("instance_id"))));
                yield call("leaveGroup", context, new LeaveGroupRequestData().setGroupId(group).setMembers(leaving));
            }
            case "offset_commit" -> {
                Map<String, OffsetCommitRequestData.OffsetCommitRequestTopic> of = new LinkedHashMap<>();
                for (JsonNode each : req.get("offsets"))
                    of.computeIfAbsent(each.get(0).asText(), name -> new OffsetCommitRequestData.OffsetCommitRequestTopic()
                        .setName(name).setTopicId(topicId(name))).partitions().add(
                            new OffsetCommitRequestData.OffsetCommitRequestPartition().setPartitionIndex(each.get(1).asInt())
                                .setCommittedOffset(each.get(2).asLong()).setCommittedMetadata(""));
                yield call("commitOffsets", context, new OffsetCommitRequestData().setGroupId(group).setMemberId(member)
                    .setGroupInstanceId(instance).setGenerationIdOrMemberEpoch(req.get("generation_or_epoch").asInt())
                    .setTopics(new ArrayList<>(of.values())));
            }
            case "consumer_group_heartbeat" -> call("consumerGroupHeartbeat", context, new ConsumerGroupHeartbeatRequestData()
                .setGroupId(group).setMemberId(member).setMemberEpoch(req.get("member_epoch").asInt()).setInstanceId(instance)
                .setRebalanceTimeoutMs(req.get("rebalance_timeout_ms").asInt())
                .setSubscribedTopicNames(req.path("subscribed").isArray() ? texts(req.get("subscribed")) : null)
                .setSubscribedTopicRegex(text(req.path("regex"))).setServerAssignor(text(req.path("assignor")))
                .setTopicPartitions(owned(req.path("owned"))));
            case "offset_fetch" -> call(req.get("partitions").isNull() && isOld() ? "fetchAllOffsets" : "fetchOffsets", context,
                new OffsetFetchRequestData.OffsetFetchRequestGroup().setGroupId(group).setMemberId(text(req.get("member_id")))
                    .setMemberEpoch(req.get("member_epoch").asInt()).setTopics(fetched(req.get("partitions"))), false);
            case "offset_delete" -> {
                var of = new OffsetDeleteRequestData.OffsetDeleteRequestTopicCollection();
                for (JsonNode each : req.get("partitions")) {
                    var topic = of.find(each.get(0).asText());
                    if (topic == null) of.add(topic = new OffsetDeleteRequestData.OffsetDeleteRequestTopic().setName(each.get(0).asText()));
                    topic.partitions().add(new OffsetDeleteRequestData.OffsetDeleteRequestPartition().setPartitionIndex(each.get(1).asInt()));
                }
                yield call("deleteOffsets", context, new OffsetDeleteRequestData().setGroupId(group).setTopics(of));
            }
            case "delete_group" -> call("deleteGroups", context, List.of(group));
            case "list_groups" -> call("listGroups", context(5, "client"), new ListGroupsRequestData());
            case "consumer_group_describe" -> call("consumerGroupDescribe", context, List.of(group));
            case "describe_group" -> call("describeGroups", context, List.of(group));
            default -> throw new IllegalArgumentException(op);
        };
    }

    private static boolean isOld() {
        return Arrays.stream(GroupCoordinatorService.class.getMethods()).anyMatch(each -> each.getName().equals("fetchAllOffsets"));
    }

    private List<OffsetFetchRequestData.OffsetFetchRequestTopics> fetched(JsonNode pairs) {
        if (pairs.isNull()) return null;
        Map<String, OffsetFetchRequestData.OffsetFetchRequestTopics> of = new LinkedHashMap<>();
        for (JsonNode pair : pairs)
            of.computeIfAbsent(pair.get(0).asText(), name -> new OffsetFetchRequestData.OffsetFetchRequestTopics().setName(name)
                .setTopicId(topicId(name))).partitionIndexes().add(pair.get(1).asInt());
        return new ArrayList<>(of.values());
    }

    private CompletableFuture<JsonNode> call(String name, Object... given) throws Exception {
        for (Method method : GroupCoordinatorService.class.getMethods()) {
            if (!method.getName().equals(name) || method.isBridge()) continue;
            Object[] arguments = Arrays.copyOf(given, method.getParameterCount());
            try {
                return ((CompletableFuture<?>) method.invoke(service, arguments)).handle((answer, error) ->
                    error == null ? StoryAnswers.of(answer, topics) : StoryAnswers.failed(error));
            } catch (InvocationTargetException error) {
                return CompletableFuture.completedFuture(StoryAnswers.failed(error.getCause()));
            }
        }
        throw new IllegalArgumentException(name);
    }

    private List<ConsumerGroupHeartbeatRequestData.TopicPartitions> owned(JsonNode pairs) {
        if (!pairs.isArray()) return null;
        Map<String, List<Integer>> of = new LinkedHashMap<>();
        for (JsonNode pair : pairs) of.computeIfAbsent(pair.get(0).asText(), name -> new ArrayList<>()).add(pair.get(1).asInt());
        List<ConsumerGroupHeartbeatRequestData.TopicPartitions> made = new ArrayList<>();
        of.forEach((name, numbers) -> made.add(
            new ConsumerGroupHeartbeatRequestData.TopicPartitions().setTopicId(topicId(name)).setPartitions(numbers)));
        return made;
    }

    private static List<TopicPartition> partitions(JsonNode pairs) {
        List<TopicPartition> named = new ArrayList<>();
        pairs.forEach(pair -> named.add(new TopicPartition(pair.get(0).asText(), pair.get(1).asInt())));
        return named;
    }

    private static byte[] assignment(String text) {
        if (!text.startsWith("P:")) return text.getBytes(StandardCharsets.ISO_8859_1);
        List<TopicPartition> partitions = new ArrayList<>();
        for (String each : text.substring(2).split(","))
            if (!each.isEmpty()) {
                int at = each.lastIndexOf('-');
                partitions.add(new TopicPartition(each.substring(0, at), Integer.parseInt(each.substring(at + 1))));
            }
        return bytes(ConsumerProtocol.serializeAssignment(new Assignment(partitions)));
    }

    private Uuid topicId(String name) {
        return topics.entrySet().stream().filter(each -> each.getValue().equals(name)).findFirst().orElseThrow().getKey();
    }

    private String id(JsonNode symbol) { return real.getOrDefault(symbol.asText(), symbol.asText()); }

    private static String text(JsonNode node) { return node.isTextual() ? node.asText() : null; }

    private static List<String> texts(JsonNode array) {
        List<String> found = new ArrayList<>();
        array.forEach(each -> found.add(each.asText()));
        return found;
    }

    private static byte[] bytes(ByteBuffer buffer) {
        byte[] copied = new byte[buffer.remaining()];
        buffer.get(copied);
        return copied;
    }

    private static AuthorizableRequestContext context(int version, String client) {
        return (AuthorizableRequestContext) Proxy.newProxyInstance(StoryPlayer.class.getClassLoader(),
            new Class<?>[] {AuthorizableRequestContext.class}, (proxy, method, arguments) -> switch (method.getName()) {
                case "requestVersion" -> version;
                case "clientId" -> client;
                case "clientAddress" -> InetAddress.getLoopbackAddress();
                case "correlationId", "requestType" -> 0;
                case "toString" -> "a request of " + client;
                default -> null;
            });
    }

    public static void main(String[] arguments) {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                JsonNode trace = JSON.readTree(line);
                System.out.println("TRACE " + JSON.writeValueAsString(new StoryPlayer(trace).play(trace)));
            }
            System.exit(0);
        } catch (Exception error) {
            error.printStackTrace();
            System.exit(1); // the coordinator's threads would go on
        }
    }
}
