import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import io.netty.channel.Channel;
import io.netty.channel.embedded.EmbeddedChannel;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import org.apache.rocketmq.broker.BrokerController;
import org.apache.rocketmq.broker.client.ClientChannelInfo;
import org.apache.rocketmq.broker.client.ConsumerGroupEvent;
import org.apache.rocketmq.broker.client.ConsumerGroupInfo;
import org.apache.rocketmq.broker.client.ConsumerIdsChangeListener;
import org.apache.rocketmq.broker.client.ConsumerManager;
import org.apache.rocketmq.broker.client.rebalance.RebalanceLockManager;
import org.apache.rocketmq.broker.offset.ConsumerOffsetManager;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.client.consumer.store.OffsetStore;
import org.apache.rocketmq.client.consumer.store.RemoteBrokerOffsetStore;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.OffsetNotFoundException;
import org.apache.rocketmq.client.impl.FindBrokerResult;
import org.apache.rocketmq.client.impl.MQAdminImpl;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.impl.consumer.DefaultMQPushConsumerImpl;
import org.apache.rocketmq.client.impl.consumer.ProcessQueue;
import org.apache.rocketmq.client.impl.consumer.PullRequest;
import org.apache.rocketmq.client.impl.consumer.RebalancePushImpl;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.common.namesrv.NamesrvConfig;
import org.apache.rocketmq.namesrv.routeinfo.RouteInfoManager;
import org.apache.rocketmq.remoting.netty.NettyClientConfig;
import org.apache.rocketmq.remoting.netty.NettyServerConfig;
import org.apache.rocketmq.remoting.protocol.DataVersion;
import org.apache.rocketmq.remoting.protocol.LanguageCode;
import org.apache.rocketmq.remoting.protocol.body.LockBatchRequestBody;
import org.apache.rocketmq.remoting.protocol.body.TopicConfigAndMappingSerializeWrapper;
import org.apache.rocketmq.remoting.protocol.body.UnlockBatchRequestBody;
import org.apache.rocketmq.remoting.protocol.filter.FilterAPI;
import org.apache.rocketmq.remoting.protocol.header.QueryConsumerOffsetRequestHeader;
import org.apache.rocketmq.remoting.protocol.header.UpdateConsumerOffsetRequestHeader;
import org.apache.rocketmq.remoting.protocol.header.namesrv.UnRegisterBrokerRequestHeader;
import org.apache.rocketmq.remoting.protocol.heartbeat.MessageModel;
import org.apache.rocketmq.remoting.protocol.heartbeat.ConsumeType;
import org.apache.rocketmq.remoting.protocol.heartbeat.SubscriptionData;
import org.apache.rocketmq.remoting.protocol.route.TopicRouteData;
import org.apache.rocketmq.store.config.MessageStoreConfig;

/**
 * A group as the released classes make it: route table, brokers' registries, offsets and locks, and push clients with
 * their rebalancing and offset stores. Stand-ins: the network (answers come at once), the messages, and the broker's
 * answer to a question for an offset (`Api.queryConsumerOffset`).
 */
final class RocketGroup extends RocketStories.Component {
    /** Its settings are read by the tables of offsets; it is never started. */
    static final BrokerController CONTROLLER = new BrokerController(
        new BrokerConfig(), new NettyServerConfig(), new NettyClientConfig(), new MessageStoreConfig());
    private final String group;
    private final JSONObject config;
    private final Map<String, Broker> brokers = new TreeMap<>();
    private final Set<String> up = new TreeSet<>();
    private final Set<String> unreachable = new HashSet<>();
    private final Map<MessageQueue, JSONObject> stored = new HashMap<>();
    private final Map<String, Client> clients = new TreeMap<>();
    private final RouteInfoManager routes = new RouteInfoManager(new NamesrvConfig(), null);
    private final TreeMap<String, JSONArray> effects = new TreeMap<>();
    private long versions;

    RocketGroup(JSONObject config) {
        this.config = config;
        this.group = config.getString("group");
    }

    private void effect(String kind, Object record) {
        effects.computeIfAbsent(kind, made -> new JSONArray()).add(record);
    }

    static JSONArray told(MessageQueue queue) {
        return list(queue.getTopic(), queue.getBrokerName(), queue.getQueueId());
    }

    static JSONArray told(Iterable<MessageQueue> queues) {
        JSONArray made = new JSONArray();
        TreeSet<MessageQueue> ordered = new TreeSet<>();
        queues.forEach(ordered::add);
        ordered.forEach(queue -> made.add(told(queue)));
        return made;
    }

    static MessageQueue queue(JSONArray told) {
        return new MessageQueue(told.getString(0), told.getString(1), told.getIntValue(2));
    }

    /** One broker's tables. */
    private final class Broker implements ConsumerIdsChangeListener {
        final String name;
        final ConsumerManager consumers = new ConsumerManager(this, null, new BrokerConfig());
        final ConsumerOffsetManager offsets = new ConsumerOffsetManager(CONTROLLER);
        final RebalanceLockManager locks = new RebalanceLockManager();
        final Map<String, Channel> channels = new HashMap<>();
        final Map<Channel, String> names = new HashMap<>();

        Broker(String name) {
            this.name = name;
        }

        Channel channel(String client) {
            Channel known = channels.get(client);
            if (known == null || !known.isActive()) {
                known = new EmbeddedChannel();
                channels.put(client, known);
                names.put(known, client);
            }
            return known;
        }

        ClientChannelInfo info(String client) {
            return new ClientChannelInfo(channel(client), client, LanguageCode.JAVA, 0);
        }

        @Override
        public void handle(ConsumerGroupEvent event, String of, Object... arguments) {
            if (event == ConsumerGroupEvent.CHANGE) {
                JSONArray notified = new JSONArray();
                ((List<?>) arguments[0]).forEach(each -> notified.add(names.get(each)));
                Collections.sort(notified, (left, right) -> left.toString().compareTo(right.toString()));
                effect("notified", list(name, notified));
            } else if (event == ConsumerGroupEvent.UNREGISTER) {
                effect("broker_event", list(name, event.name(), null));
            } else if (event != ConsumerGroupEvent.REGISTER) {
                effect("broker_event", list(name, event.name(), ((ClientChannelInfo) arguments[0]).getClientId()));
            }
        }

        @Override
        public void shutdown() { }
    }

    /** A push client, as far as it shares queues. */
    private final class Client extends MQClientInstance {
        final Api api;
        final DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        final DefaultMQPushConsumerImpl inner = consumer.getDefaultMQPushConsumerImpl();
        final Rebalancing rebalancing;
        final Offsets offsets;
        final LinkedHashSet<String> topics = new LinkedHashSet<>();

        Client(JSONObject given, ClientConfig settings) {
            super(settings, 0, given.getString("client"));
            api = new Api(this, settings);
            consumer.setConsumeFromWhere(ConsumeFromWhere.valueOf(config.getString("consume_from_where")));
            consumer.setMessageModel(MessageModel.valueOf(config.getString("message_model")));
            inner.setConsumeOrderly(config.getBooleanValue("orderly"));
            inner.setmQClientFactory(this);
            offsets = new Offsets(this);
            inner.setOffsetStore(offsets);
            String strategy = given.containsKey("strategy") ? given.getString("strategy") : config.getString("strategy");
            rebalancing = new Rebalancing(this, strategyOf(strategy));
        }

        void subscribe(String topic) throws Exception {
            topics.add(topic);
            rebalancing.getSubscriptionInner().put(topic, FilterAPI.buildSubscriptionData(topic, "*"));
        }

        void beat() {
            Set<SubscriptionData> told = new HashSet<>(rebalancing.getSubscriptionInner().values());
            for (String name : up) {
                Broker broker = brokers.get(name);
                broker.consumers.registerConsumer(group, broker.info(getClientId()), ConsumeType.CONSUME_PASSIVELY,
                    consumer.getMessageModel(), consumer.getConsumeFromWhere(), told,
                    config.getBooleanValue("notify_consumer_ids_changed"));
            }
        }

        @Override
        public boolean sendHeartbeatToAllBrokerWithLockV2(boolean isRebalance) {
            effect("heartbeat_to_all_brokers_is_rebalance", isRebalance);
            beat();
            return true;
        }

        @Override
        public List<String> findConsumerIdList(String topic, String of) {
            if (up.isEmpty()) {
                return null;
            }
            ConsumerGroupInfo known = brokers.get(up.iterator().next()).consumers.getConsumerGroupInfo(of);
            List<String> ids = known == null ? Collections.emptyList() : known.getAllClientId();
            return ids.isEmpty() ? null : ids;
        }

        @Override
        public String getBrokerNameFromMessageQueue(MessageQueue queue) {
            return queue.getBrokerName();
        }

        @Override
        public FindBrokerResult findBrokerAddressInSubscribe(String name, long id, boolean only) {
            return unreachable.contains(name) || !brokers.containsKey(name) ? null : new FindBrokerResult(name, false);
        }

        @Override
        public FindBrokerResult findBrokerAddressInAdmin(String name) {
            return findBrokerAddressInSubscribe(name, 0, true);
        }

        @Override
        public boolean updateTopicRouteInfoFromNameServer(String topic) {
            effect("route_refresh_asked", topic);
            return false;
        }

        @Override
        public void rebalanceLater(long delay) {
            effect("rebalance_later_ms", delay);
        }

        @Override
        public MQClientAPIImpl getMQClientAPIImpl() {
            return api;
        }

        @Override
        public MQAdminImpl getMQAdminImpl() {
            return new MQAdminImpl(this) {
                @Override
                public long maxOffset(MessageQueue queue) {
                    long end = stored.containsKey(queue) ? stored.get(queue).getLongValue("max_offset") : 0;
                    effect("broker_max_offset", list(told(queue), end));
                    return end;
                }

                @Override
                public long searchOffset(MessageQueue queue, long time) {
                    long first = stored.containsKey(queue) ? stored.get(queue).getLongValue("min_offset") : 0;
                    effect("broker_search_offset", list(told(queue), time - RocketStories.Clock.START, first));
                    return first;
                }
            };
        }
    }

    /** Its requests, which the brokers' tables answer. */
    private final class Api extends MQClientAPIImpl {
        final Client client;

        Api(Client client, ClientConfig settings) {
            super(new NettyClientConfig(), null, null, settings);
            this.client = client;
        }

        @Override
        public Set<MessageQueue> lockBatchMQ(String address, LockBatchRequestBody asked, long timeout) {
            Set<MessageQueue> granted = brokers.get(address).locks.tryLockBatch(group, asked.getMqSet(), client.getClientId());
            effect("broker_lock", list(told(asked.getMqSet()), told(granted)));
            return granted;
        }

        @Override
        public void unlockBatchMQ(String address, UnlockBatchRequestBody asked, long timeout, boolean oneway) {
            effect("broker_unlock", told(asked.getMqSet()));
            brokers.get(address).locks.unlockBatch(group, asked.getMqSet(), client.getClientId());
        }

        @Override
        public long queryConsumerOffset(String address, QueryConsumerOffsetRequestHeader asked, long timeout)
            throws MQBrokerException {
            MessageQueue queue = new MessageQueue(asked.getTopic(), address, asked.getQueueId());
            long offset = brokers.get(address).offsets.queryOffset(group, asked.getTopic(), asked.getQueueId());
            if (offset < 0) {
                JSONObject about = stored.get(queue);
                boolean fresh = about == null || about.getLongValue("min_offset") <= 0 && about.getBooleanValue("first_message_in_memory");
                offset = fresh ? 0 : -1;
            }
            effect("broker_offset_query", list(told(queue), offset < 0 ? null : offset));
            if (offset < 0) {
                throw new OffsetNotFoundException(22, "Not found", address);
            }
            return offset;
        }

        @Override
        public void updateConsumerOffsetOneway(String address, UpdateConsumerOffsetRequestHeader told, long timeout) {
            MessageQueue queue = new MessageQueue(told.getTopic(), address, told.getQueueId());
            effect("broker_offset_commit", list(told(queue), told.getCommitOffset()));
            brokers.get(address).offsets.commitOffset("", group, told.getTopic(), told.getQueueId(), told.getCommitOffset());
        }

        @Override
        public void updateConsumerOffset(String address, UpdateConsumerOffsetRequestHeader told, long timeout) {
            updateConsumerOffsetOneway(address, told, timeout);
        }
    }

    private final class Rebalancing extends RebalancePushImpl {
        Rebalancing(Client client, AllocateMessageQueueStrategy strategy) {
            super(group, client.consumer.getMessageModel(), strategy, client, client.inner);
        }

        @Override
        public void dispatchPullRequest(List<PullRequest> requests, long delay) {
            for (PullRequest each : requests) {
                effect("pull_request_next_offset_and_delay_ms", list(told(each.getMessageQueue()), each.getNextOffset(), delay));
            }
        }
    }

    private final class Offsets extends RemoteBrokerOffsetStore {
        Offsets(Client client) {
            super(client, group);
        }

        @Override
        public void persist(MessageQueue queue) {
            effect("store_persist", told(queue));
            super.persist(queue);
        }

        @Override
        public void removeOffset(MessageQueue queue) {
            effect("store_remove_offset", told(queue));
            super.removeOffset(queue);
        }
    }

    private static AllocateMessageQueueStrategy strategyOf(String name) {
        switch (name) {
            case "AVG":
                return new AllocateMessageQueueAveragely();
            case "AVG_BY_CIRCLE":
                return new AllocateMessageQueueAveragelyByCircle();
            case "CONSISTENT_HASH":
                return new AllocateMessageQueueConsistentHash();
            default:
                String inner = name.substring("MACHINE_ROOM_NEARBY-".length());
                return new AllocateMachineRoomNearby(strategyOf(inner), new AllocateMachineRoomNearby.MachineRoomResolver() {
                    @Override
                    public String brokerDeployIn(MessageQueue queue) {
                        return queue.getBrokerName().split("-")[0];
                    }

                    @Override
                    public String consumerDeployIn(String client) {
                        int last = client.lastIndexOf('-');
                        return last < 0 ? null : client.substring(last + 1);
                    }
                });
        }
    }

    @Override
    void perform(JSONObject step) throws Exception {
        effects.clear();
        String op = step.getString("op");
        boolean bare = true;
        switch (op) {
            case "set_queue":
                stored.put(queue(step.getJSONArray("queue")), step);
                break;
            case "subscribe":
                clients.get(step.getString("client")).subscribe(step.getString("topic"));
                break;
            case "unsubscribe":
                Client left = clients.get(step.getString("client"));
                left.topics.remove(step.getString("topic"));
                left.rebalancing.getSubscriptionInner().remove(step.getString("topic"));
                break;
            case "consumed_up_to":
                consumed(step);
                break;
            case "pull_all_owned":
                for (ProcessQueue each : clients.get(step.getString("client")).rebalancing.getProcessQueueTable().values()) {
                    each.setLastPullTimestamp(RocketStories.Clock.now);
                }
                break;
            default:
                bare = false;
                performed(op, step);
        }
        if (!bare) {
            JSONObject told = new JSONObject(true);
            effects.forEach((kind, records) -> told.put(kind, sorted(records)));
            if (!told.isEmpty()) {
                step.put("effects", told);
            }
            step.put("state", state());
        }
    }

    private void consumed(JSONObject step) {
        Client client = clients.get(step.getString("client"));
        MessageQueue queue = queue(step.getJSONArray("queue"));
        ProcessQueue held = client.rebalancing.getProcessQueueTable().get(queue);
        boolean keeps = held != null && !held.isDropped();
        if (keeps) {
            client.offsets.updateOffset(queue, step.getLongValue("next_offset"), true);
        }
        JSONObject result = new JSONObject();
        result.put("stored", keeps);
        step.put("result", result);
    }

    private void performed(String op, JSONObject step) throws Exception {
        Client client = step.containsKey("client") ? clients.get(step.getString("client")) : null;
        String broker = step.getString("broker");
        switch (op) {
            case "register_broker":
                register(broker, step.getJSONArray("topics_and_queues"));
                break;
            case "unregister_broker":
                up.remove(broker);
                UnRegisterBrokerRequestHeader gone = new UnRegisterBrokerRequestHeader();
                gone.setBrokerAddr(broker);
                gone.setBrokerId(0L);
                gone.setBrokerName(broker);
                gone.setClusterName("cluster");
                routes.unRegisterBroker(Collections.singleton(gone));
                break;
            case "broker_heartbeat_to_name_server":
                routes.updateBrokerInfoUpdateTimestamp("cluster", broker);
                break;
            case "name_server_scan":
                routes.scanNotActiveBroker();
                drain(routes);
                break;
            case "broker_down":
                setDown(broker, step.getBooleanValue("down"));
                break;
            case "brokers_scan_channels":
                for (String name : up) {
                    brokers.get(name).consumers.scanNotActiveChannel();
                }
                break;
            case "create_client":
                ClientConfig settings = new ClientConfig();
                settings.setUnitName(null);
                Client made = new Client(step, settings);
                for (Object topic : step.getJSONArray("topics")) {
                    made.subscribe(topic.toString());
                }
                clients.put(step.getString("client"), made);
                break;
            case "poll_route":
                step.put("result", poll(client));
                break;
            case "heartbeat":
                client.beat();
                break;
            case "rebalance":
                step.put("topic_order", new ArrayList<>(client.rebalancing.getSubscriptionInner().keySet()));
                step.put("result", client.rebalancing.doRebalance(config.getBooleanValue("orderly")));
                break;
            case "persist_all_owned":
                persist(client);
                break;
            case "lock_all":
                client.rebalancing.lockAll();
                break;
            case "stop_gracefully":
                if (config.getBooleanValue("orderly") && client.consumer.getMessageModel() == MessageModel.CLUSTERING) {
                    client.rebalancing.unlockAll(false);
                }
                persist(client);
                for (String name : up) {
                    Broker at = brokers.get(name);
                    at.consumers.unregisterConsumer(group, at.info(client.getClientId()), config.getBooleanValue("notify_consumer_ids_changed"));
                }
                clients.remove(client.getClientId());
                break;
            case "crash_with_connections_closed":
                for (String name : up) {
                    Broker at = brokers.get(name);
                    at.consumers.doChannelCloseEvent(client.getClientId(), at.channel(client.getClientId()));
                }
                clients.remove(client.getClientId());
                break;
            default:
                if (!op.equals("thaw") && !op.equals("freeze_keeps_its_queues_and_connections")) {
                    throw new IllegalArgumentException(op);
                }
        }
    }

    private void register(String broker, JSONArray topics) throws Exception {
        brokers.computeIfAbsent(broker, Broker::new);
        up.add(broker);
        TopicConfigAndMappingSerializeWrapper told = new TopicConfigAndMappingSerializeWrapper();
        for (int number = 0; number < topics.size(); number++) {
            JSONArray each = topics.getJSONArray(number);
            TopicConfig made = new TopicConfig(each.getString(0), each.getIntValue(1), each.getIntValue(1), 6);
            told.getTopicConfigTable().put(each.getString(0), made);
        }
        told.getTopicConfigTable().put("SELF_" + broker, new TopicConfig("SELF_" + broker, 1, 1, 6));
        DataVersion version = new DataVersion();
        version.setTimestamp(RocketStories.Clock.now);
        version.setCounter(new java.util.concurrent.atomic.AtomicLong(++versions));
        told.setDataVersion(version);
        routes.registerBroker("cluster", broker, broker, 0, "ha/" + broker, "", null, told, new ArrayList<>(), new EmbeddedChannel());
    }

    /** Carries out the unregistrations that the service thread would; how many these were. */
    static int drain(RouteInfoManager routes) {
        Object service = valueOf(routes, RouteInfoManager.class, "unRegisterService");
        Set<UnRegisterBrokerRequestHeader> gone = new HashSet<>();
        ((BlockingQueue<UnRegisterBrokerRequestHeader>) valueOf(service, service.getClass(), "unregistrationQueue")).drainTo(gone);
        if (!gone.isEmpty()) {
            routes.unRegisterBroker(gone);
        }
        return gone.size();
    }

    /** A field that is not public. */
    static Object valueOf(Object of, Class<?> kind, String name) {
        try {
            Field field = kind.getDeclaredField(name);
            field.setAccessible(true);
            return field.get(of);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    private void setDown(String broker, boolean down) {
        if (down) {
            unreachable.add(broker);
            up.remove(broker);
        } else if (brokers.containsKey(broker)) {
            unreachable.remove(broker);
            up.add(broker);
        }
    }

    private JSONArray poll(Client client) {
        JSONArray found = new JSONArray();
        for (String topic : client.topics) {
            TopicRouteData route = routes.pickupTopicRouteData(topic);
            if (route == null) {
                found.add(list(topic, null));
            } else {
                Set<MessageQueue> queues = MQClientInstance.topicRouteData2TopicSubscribeInfo(topic, route);
                client.rebalancing.getTopicSubscribeInfoTable().put(topic, queues);
                found.add(list(topic, queues.size()));
            }
        }
        return found;
    }

    private void persist(Client client) {
        OffsetStore store = client.offsets;
        store.persistAll(new HashSet<>(client.rebalancing.getProcessQueueTable().keySet()));
    }

    static List<String> ordered(Collection<String> names) {
        List<String> made = new ArrayList<>(names);
        Collections.sort(made);
        return made;
    }

    private JSONObject state() {
        TreeMap<MessageQueue, JSONArray> owners = new TreeMap<>();
        clients.forEach((name, client) -> client.rebalancing.getProcessQueueTable().forEach((queue, held) ->
            owners.computeIfAbsent(queue, made -> new JSONArray()).add(held.isDropped() ? name + " dropped" : name)));
        JSONArray owned = new JSONArray();
        owners.forEach((queue, names) -> owned.add(list(told(queue), names)));
        JSONObject ids = new JSONObject(true);
        JSONObject topics = new JSONObject(true);
        TreeMap<MessageQueue, Long> committed = new TreeMap<>();
        brokers.forEach((name, broker) -> {
            ConsumerGroupInfo known = broker.consumers.getConsumerGroupInfo(group);
            ids.put(name, known == null ? null : ordered(known.getAllClientId()));
            topics.put(name, known == null ? null : ordered(known.getSubscribeTopics()));
            broker.offsets.getOffsetTable().forEach((key, of) -> of.forEach((number, offset) ->
                committed.put(new MessageQueue(key.split("@")[0], name, number), offset)));
        });
        JSONArray offsets = new JSONArray();
        committed.forEach((queue, offset) -> offsets.add(list(told(queue), offset)));
        JSONObject state = new JSONObject(true);
        state.put("owners", owned);
        state.put("client_ids_on_broker", ids);
        state.put("subscribed_topics_on_broker", topics);
        state.put("committed", offsets);
        return state;
    }
}
