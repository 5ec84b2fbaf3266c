import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import io.netty.channel.Channel;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.broker.client.ClientChannelInfo;
import org.apache.rocketmq.broker.client.ConsumerGroupEvent;
import org.apache.rocketmq.broker.client.ConsumerGroupInfo;
import org.apache.rocketmq.broker.client.ConsumerIdsChangeListener;
import org.apache.rocketmq.broker.client.ConsumerManager;
import org.apache.rocketmq.broker.client.rebalance.RebalanceLockManager;
import org.apache.rocketmq.broker.offset.ConsumerOffsetManager;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.common.namesrv.NamesrvConfig;
import org.apache.rocketmq.namesrv.routeinfo.RouteInfoManager;
import org.apache.rocketmq.remoting.protocol.DataVersion;
import org.apache.rocketmq.remoting.protocol.LanguageCode;
import org.apache.rocketmq.remoting.protocol.body.TopicConfigAndMappingSerializeWrapper;
import org.apache.rocketmq.remoting.protocol.header.namesrv.UnRegisterBrokerRequestHeader;
import org.apache.rocketmq.remoting.protocol.heartbeat.ConsumeType;
import org.apache.rocketmq.remoting.protocol.heartbeat.MessageModel;
import org.apache.rocketmq.remoting.protocol.heartbeat.SubscriptionData;
import org.apache.rocketmq.remoting.protocol.namesrv.RegisterBrokerResult;
import org.apache.rocketmq.remoting.protocol.route.BrokerData;
import org.apache.rocketmq.remoting.protocol.route.QueueData;
import org.apache.rocketmq.remoting.protocol.route.TopicRouteData;

/** Single tables of a broker and a name server, of the classes on the class path. */
final class RocketTables {
    private RocketTables() { }

    static RocketStories.Component of(String name, JSONObject config) {
        switch (name) {
            case "consumer_manager":
                return new Consumers(config);
            case "lock_manager":
                return new Locks();
            case "offset_manager":
                return new Offsets(config);
            case "route_info_manager":
                return new Routes(config);
            default:
                throw new IllegalArgumentException(name);
        }
    }

    private static final class Consumers extends RocketStories.Component implements ConsumerIdsChangeListener {
        private final ConsumerManager manager;
        private final Map<String, Channel> channels = new TreeMap<>();
        private final Map<Channel, String> names = new HashMap<>();
        private JSONArray events = new JSONArray();

        Consumers(JSONObject config) {
            BrokerConfig settings = new BrokerConfig();
            settings.setEnableFastChannelEventProcess(config.getBooleanValue("enable_fast_channel_event_process"));
            settings.setChannelExpiredTimeout(config.getLongValue("channel_expired_timeout_ms"));
            manager = new ConsumerManager(this, null, settings);
        }

        private Channel channel(String name) {
            return channels.computeIfAbsent(name, made -> {
                Channel channel = new EmbeddedChannel();
                names.put(channel, made);
                return channel;
            });
        }

        @Override
        public void handle(ConsumerGroupEvent event, String group, Object... arguments) {
            JSONObject told = new JSONObject(true);
            told.put("event", event.name());
            told.put("group", group);
            if (event == ConsumerGroupEvent.CHANGE) {
                List<String> all = new ArrayList<>();
                ((List<?>) arguments[0]).forEach(each -> all.add(names.get(each)));
                told.put("channels", RocketGroup.ordered(all));
            } else if (event != ConsumerGroupEvent.UNREGISTER) {
                Set<String> topics = new TreeSet<>();
                for (Object each : arguments) {
                    if (each instanceof ClientChannelInfo) {
                        told.put("client_id", ((ClientChannelInfo) each).getClientId());
                        told.put("channel", names.get(((ClientChannelInfo) each).getChannel()));
                    } else if (each instanceof Set) {
                        ((Set<?>) each).forEach(topic -> topics.add(topic instanceof SubscriptionData ? ((SubscriptionData) topic).getTopic() : topic.toString()));
                    }
                }
                told.put("topics", new ArrayList<>(topics));
            }
            events.add(told);
        }

        @Override
        public void shutdown() { }

        @Override
        void perform(JSONObject step) {
            events = new JSONArray();
            performed(step);
            if (!events.isEmpty()) {
                step.put("effects", new JSONObject(Collections.singletonMap("events", events)));
            }
            step.put("state", state());
        }

        private void performed(JSONObject step) {
            String group = step.getString("group");
            boolean notify = step.getBooleanValue("notify_consumer_ids_changed");
            ClientChannelInfo info = step.containsKey("client_id")
                ? new ClientChannelInfo(channel(step.getString("channel")), step.getString("client_id"), LanguageCode.JAVA, 0) : null;
            switch (step.getString("op")) {
                case "register_consumer":
                    step.put("result", manager.registerConsumer(group, info, ConsumeType.valueOf(step.getString("consume_type")),
                        MessageModel.valueOf(step.getString("message_model")),
                        ConsumeFromWhere.valueOf(step.getString("consume_from_where")),
                        subscriptions(step.getJSONArray("subscriptions")), notify, step.getBooleanValue("update_subscription")));
                    break;
                case "register_consumer_without_subscriptions":
                    step.put("result", manager.registerConsumerWithoutSub(group, info, ConsumeType.CONSUME_PASSIVELY,
                        MessageModel.CLUSTERING, ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET, notify));
                    break;
                case "unregister_consumer":
                    manager.unregisterConsumer(group, info, notify);
                    break;
                case "channel_close_event":
                    step.put("result", manager.doChannelCloseEvent(step.getString("channel"), channel(step.getString("channel"))));
                    break;
                case "scan_not_active_channels":
                    manager.scanNotActiveChannel();
                    break;
                case "find_subscription":
                    SubscriptionData found = manager.findSubscriptionData(group, step.getString("topic"));
                    step.put("result", found == null ? null : told(found));
                    break;
                case "query_topic_consume_by_who":
                    step.put("result", RocketGroup.ordered(manager.queryTopicConsumeByWho(step.getString("topic"))));
                    break;
                case "client_ids_sorted":
                    ConsumerGroupInfo known = manager.getConsumerGroupInfo(group);
                    step.put("result", known == null ? null : RocketGroup.ordered(known.getAllClientId()));
                    break;
                default:
                    throw new IllegalArgumentException(step.getString("op"));
            }
        }

        private static Set<SubscriptionData> subscriptions(JSONArray given) {
            Set<SubscriptionData> made = new HashSet<>();
            for (int number = 0; number < given.size(); number++) {
                JSONArray each = given.getJSONArray(number);
                SubscriptionData data = new SubscriptionData(each.getString(0), each.getString(1));
                data.setSubVersion(each.getLongValue(2));
                made.add(data);
            }
            return made;
        }

        private static JSONArray told(SubscriptionData data) {
            return list(data.getTopic(), data.getSubString(), data.getSubVersion());
        }

        private JSONObject state() {
            JSONArray groups = new JSONArray();
            new TreeMap<>(manager.getConsumerTable()).forEach((name, group) -> {
                JSONArray clients = new JSONArray();
                group.getChannelInfoTable().forEach((channel, info) -> clients.add(
                    list(names.get(channel), info.getClientId(), info.getLastUpdateTimestamp() - RocketStories.Clock.START)));
                JSONArray subscribed = new JSONArray();
                group.getSubscriptionTable().values().forEach(each -> subscribed.add(told(each)));
                JSONObject told = new JSONObject(true);
                told.put("group", name);
                told.put("consume_type", group.getConsumeType().name());
                told.put("message_model", group.getMessageModel().name());
                told.put("consume_from_where", group.getConsumeFromWhere().name());
                told.put("clients_channel_id_last_update_ms", sorted(clients));
                told.put("subscriptions", sorted(subscribed));
                told.put("last_update_ms", group.getLastUpdateTimestamp() - RocketStories.Clock.START);
                groups.add(told);
            });
            JSONObject state = new JSONObject(true);
            state.put("groups", groups);
            state.put("topic_group_table_as_stored", byTopic());
            List<String> closed = new ArrayList<>();
            channels.forEach((name, channel) -> {
                if (!channel.isOpen()) {
                    closed.add(name);
                }
            });
            state.put("closed_channels", closed);
            return state;
        }

        private JSONObject byTopic() {
            JSONObject told = new JSONObject(true);
            new TreeMap<>((Map<String, Set<String>>) RocketGroup.valueOf(manager, ConsumerManager.class, "topicGroupTable")).forEach(
                (topic, groups) -> told.put(topic, RocketGroup.ordered(groups)));
            return told;
        }
    }

    private static final class Locks extends RocketStories.Component {
        private final RebalanceLockManager manager = new RebalanceLockManager();

        @Override
        void perform(JSONObject step) {
            String group = step.getString("group");
            String client = step.getString("client_id");
            switch (step.getString("op")) {
                case "try_lock":
                    step.put("result", manager.tryLock(group, RocketGroup.queue(step.getJSONArray("queue")), client));
                    break;
                case "try_lock_batch":
                    step.put("result", RocketGroup.told(manager.tryLockBatch(group, queues(step), client)));
                    break;
                case "unlock_batch":
                    manager.unlockBatch(group, queues(step), client);
                    break;
                default:
                    step.put("result", manager.isLockAllExpired(group));
            }
        }

        private static Set<MessageQueue> queues(JSONObject step) {
            Set<MessageQueue> made = new HashSet<>();
            JSONArray given = step.getJSONArray("queues");
            for (int number = 0; number < given.size(); number++) {
                made.add(RocketGroup.queue(given.getJSONArray(number)));
            }
            return made;
        }
    }

    private static final class Offsets extends RocketStories.Component {
        private final ConsumerOffsetManager manager;

        Offsets(JSONObject config) {
            BrokerConfig settings = RocketGroup.CONTROLLER.getBrokerConfig();
            settings.setUseServerSideResetOffset(config.getBooleanValue("use_server_side_reset_offset"));
            settings.setConsumerOffsetUpdateVersionStep(config.getIntValue("consumer_offset_update_version_step"));
            manager = new ConsumerOffsetManager(RocketGroup.CONTROLLER);
        }

        @Override
        void perform(JSONObject step) {
            performed(step, step.getString("group"), step.getString("topic"), step.getIntValue("queue_id"), step.getLongValue("offset"));
            JSONObject state = new JSONObject(true);
            state.put("offsets", told("offsetTable"));
            state.put("reset_offsets", told("resetOffsetTable"));
            state.put("pull_offsets", told("pullOffsetTable"));
            state.put("data_version_counter", manager.getDataVersion().getCounter().get());
            step.put("state", state);
        }

        private void performed(JSONObject step, String group, String topic, int queue, long offset) {
            switch (step.getString("op")) {
                case "commit":
                    manager.commitOffset("", group, topic, queue, offset);
                    break;
                case "query":
                    step.put("result", manager.queryOffset(group, topic, queue));
                    break;
                case "commit_pull":
                    manager.commitPullOffset("", group, topic, queue, offset);
                    break;
                case "query_pull":
                    step.put("result", manager.queryPullOffset(group, topic, queue));
                    break;
                case "clear_pull":
                    manager.clearPullOffset(group, topic);
                    break;
                case "clone":
                    manager.cloneOffset(step.getString("from_group"), step.getString("to_group"), topic);
                    break;
                case "assign_reset":
                    manager.assignResetOffset(topic, group, queue, offset);
                    break;
                case "has_reset":
                    step.put("result", manager.hasOffsetReset(topic, group, queue));
                    break;
                case "query_then_erase_reset":
                    step.put("result", manager.queryThenEraseResetOffset(topic, group, queue));
                    break;
                case "remove_group":
                    manager.removeOffset(group);
                    break;
                case "clean_group_consume_offsets":
                    manager.cleanOffset(group);
                    break;
                case "clean_topic":
                    manager.cleanOffsetByTopic(topic);
                    break;
                case "topics_of_group":
                    step.put("result", RocketGroup.ordered(manager.whichTopicByConsumer(group)));
                    break;
                case "groups_of_topic":
                    step.put("result", RocketGroup.ordered(manager.whichGroupByTopic(topic)));
                    break;
                default:
                    throw new IllegalArgumentException(step.getString("op"));
            }
        }

        private JSONArray told(String field) {
            JSONArray rows = new JSONArray();
            new TreeMap<>((Map<String, Map<Integer, Long>>) RocketGroup.valueOf(manager, ConsumerOffsetManager.class, field)).forEach((key, of) -> {
                JSONArray row = new JSONArray();
                new TreeMap<>(of).forEach((queue, offset) -> row.add(list(queue, offset)));
                rows.add(list(key, row));
            });
            return rows;
        }
    }

    private static final class Routes extends RocketStories.Component {
        private final RouteInfoManager manager;
        private final Map<String, Channel> channels = new TreeMap<>();
        private final Set<String> closed = new TreeSet<>();

        Routes(JSONObject config) {
            NamesrvConfig settings = new NamesrvConfig();
            settings.setSupportActingMaster(config.getBooleanValue("support_acting_master"));
            settings.setDeleteTopicWithBrokerRegistration(config.getBooleanValue("delete_topic_with_broker_registration"));
            manager = new RouteInfoManager(settings, null);
        }

        @Override
        void perform(JSONObject step) {
            String topic = step.getString("topic");
            String broker = step.getString("broker");
            switch (step.getString("op")) {
                case "register_broker":
                    RegisterBrokerResult answer = register(step);
                    JSONObject told = new JSONObject(true);
                    if (answer != null) {
                        told.put("ha_server_address", answer.getHaServerAddr());
                        told.put("master_address", answer.getMasterAddr());
                    }
                    step.put("result", answer == null ? null : told);
                    break;
                case "unregister_broker":
                    UnRegisterBrokerRequestHeader gone = new UnRegisterBrokerRequestHeader();
                    gone.setBrokerAddr(step.getString("address"));
                    gone.setBrokerId(step.getLong("broker_id"));
                    gone.setBrokerName(broker);
                    gone.setClusterName(step.getString("cluster"));
                    manager.unRegisterBroker(Collections.singleton(gone));
                    break;
                case "broker_heartbeat":
                    manager.updateBrokerInfoUpdateTimestamp(step.getString("cluster"), step.getString("address"));
                    break;
                case "scan_not_active_brokers":
                    manager.scanNotActiveBroker();
                    step.put("result", new JSONObject(Collections.singletonMap("unregistered", RocketGroup.drain(manager))));
                    break;
                case "channel_destroyed":
                    manager.onChannelDestroy(channels.computeIfAbsent(step.getString("channel"), made -> new EmbeddedChannel()));
                    step.put("result", new JSONObject(Collections.singletonMap("unregistered", RocketGroup.drain(manager))));
                    break;
                case "pickup_route":
                    TopicRouteData route = manager.pickupTopicRouteData(topic);
                    step.put("result", route == null ? null : told(topic, route));
                    break;
                case "wipe_write_perm":
                    step.put("result", manager.wipeWritePermOfBrokerByLock(broker));
                    break;
                case "add_write_perm":
                    step.put("result", manager.addWritePermOfBrokerByLock(broker));
                    break;
                case "delete_topic":
                    manager.deleteTopic(topic);
                    break;
                case "delete_topic_in_cluster":
                    manager.deleteTopic(topic, step.getString("cluster"));
                    break;
                default:
                    QueueData data = new QueueData();
                    data.setBrokerName(broker);
                    data.setReadQueueNums(step.getIntValue("read"));
                    data.setWriteQueueNums(step.getIntValue("write"));
                    data.setPerm(step.getIntValue("perm"));
                    manager.registerTopic(topic, new ArrayList<>(Collections.singletonList(data)));
            }
            step.put("state", state());
        }

        private RegisterBrokerResult register(JSONObject step) {
            TopicConfigAndMappingSerializeWrapper told = new TopicConfigAndMappingSerializeWrapper();
            JSONArray topics = step.getJSONArray("topics_name_read_write_perm");
            for (int number = 0; number < topics.size(); number++) {
                JSONArray each = topics.getJSONArray(number);
                TopicConfig made = new TopicConfig(each.getString(0), each.getIntValue(1), each.getIntValue(2), each.getIntValue(3));
                told.getTopicConfigTable().put(each.getString(0), made);
            }
            DataVersion version = new DataVersion();
            version.setTimestamp(RocketStories.Clock.START + step.getLongValue("data_version_timestamp_ms"));
            version.setCounter(new AtomicLong(step.getLongValue("data_version_counter")));
            version.setStateVersion(step.getLongValue("state_version"));
            told.setDataVersion(version);
            String address = step.getString("address");
            Channel channel = channels.compute(step.getString("channel"), (name, known) -> known == null || !known.isOpen() ? new EmbeddedChannel() : known);
            return manager.registerBroker(step.getString("cluster"), address, step.getString("broker"), step.getLongValue("broker_id"),
                "ha/" + address, "", step.getLong("timeout_ms"), step.getBoolean("enable_acting_master"), told, new ArrayList<>(), channel);
        }

        private static JSONObject told(String topic, TopicRouteData route) {
            JSONArray queues = new JSONArray();
            Collections.sort(route.getQueueDatas());
            Collections.sort(route.getBrokerDatas());
            route.getQueueDatas().forEach(each -> queues.add(told(each)));
            JSONArray brokers = new JSONArray();
            route.getBrokerDatas().forEach(each -> {
                JSONObject made = new JSONObject(true);
                made.put("broker", each.getBrokerName());
                made.put("cluster", each.getCluster());
                made.put("addresses", addresses(each));
                brokers.add(made);
            });
            JSONObject found = new JSONObject(true);
            found.put("queue_data_broker_read_write_perm", queues);
            found.put("broker_data", brokers);
            found.put("subscribe_queues", RocketGroup.told(MQClientInstance.topicRouteData2TopicSubscribeInfo(topic, route)));
            JSONArray publish = new JSONArray();
            MQClientInstance.topicRouteData2TopicPublishInfo(topic, route).getMessageQueueList().forEach(each -> publish.add(RocketGroup.told(each)));
            found.put("publish_queues_in_order", publish);
            return found;
        }

        private static JSONArray told(QueueData data) {
            return list(data.getBrokerName(), data.getReadQueueNums(), data.getWriteQueueNums(), data.getPerm());
        }

        private static JSONArray addresses(BrokerData broker) {
            JSONArray rows = new JSONArray();
            new TreeMap<>(broker.getBrokerAddrs()).forEach((id, address) -> rows.add(list(id, address)));
            return rows;
        }

        private <T> Map<String, T> table(String name) {
            return new TreeMap<>((Map<String, T>) RocketGroup.valueOf(manager, RouteInfoManager.class, name));
        }

        private JSONObject state() {
            JSONObject topics = new JSONObject(true);
            this.<Map<String, QueueData>>table("topicQueueTable").forEach((topic, of) -> {
                JSONArray rows = new JSONArray();
                new TreeMap<>(of).values().forEach(each -> rows.add(told(each)));
                topics.put(topic, rows);
            });
            JSONObject brokers = new JSONObject(true);
            this.<BrokerData>table("brokerAddrTable").forEach((name, each) -> brokers.put(name, addresses(each)));
            JSONObject clusters = new JSONObject(true);
            this.<Set<String>>table("clusterAddrTable").forEach((name, of) -> clusters.put(name, RocketGroup.ordered(of)));
            TreeMap<String, JSONArray> live = new TreeMap<>();
            ((Map<?, ?>) RocketGroup.valueOf(manager, RouteInfoManager.class, "brokerLiveTable")).forEach((key, known) -> {
                Class<?> kind = known.getClass();
                String cluster = (String) RocketGroup.valueOf(key, key.getClass(), "clusterName");
                String address = (String) RocketGroup.valueOf(key, key.getClass(), "brokerAddr");
                long last = (Long) RocketGroup.valueOf(known, kind, "lastUpdateTimestamp");
                live.put(cluster + " " + address, list(cluster, address, last - RocketStories.Clock.START,
                    RocketGroup.valueOf(known, kind, "heartbeatTimeoutMillis")));
            });
            channels.forEach((name, channel) -> {
                if (!channel.isOpen()) {
                    closed.add(name);
                }
            });
            JSONObject state = new JSONObject(true);
            state.put("topics_broker_read_write_perm", topics);
            state.put("brokers", brokers);
            state.put("clusters", clusters);
            state.put("live_cluster_addr_last_update_ms_timeout_ms", new ArrayList<>(live.values()));
            state.put("closed_channels", new ArrayList<>(closed));
            return state;
        }
    }
}
