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
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.common.namesrv.NamesrvConfig;
import org.apache.rocketmq.namesrv.routeinfo.RouteInfoManager;
import org.apache.rocketmq.remoting.protocol.DataVersion;
import org.apache.rocketmq.remoting.protocol.LanguageCode;
import org.apache.rocketmq.remoting.protocol.body.TopicConfigAndMappingSerializeWrapper;
import org.apache.rocketmq.remoting.protocol.heartbeat.ConsumeType;
import org.apache.rocketmq.remoting.protocol.heartbeat.MessageModel;
import org.apache.rocketmq.remoting.protocol.heartbeat.SubscriptionData;

/** Single tables of a broker, of the classes on the class path: who is in the groups, and who holds which queue. */
final class RocketTables {
    private RocketTables() { }

    static RocketStories.Component of(String name, JSONObject config) {
        switch (name) {
            case "consumer_manager":
                return new Consumers(config);
            case "lock_manager":
                return new Locks();
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
            try {
                java.lang.reflect.Field table = ConsumerManager.class.getDeclaredField("topicGroupTable");
                table.setAccessible(true);
                JSONObject told = new JSONObject(true);
                new TreeMap<>((Map<String, Set<String>>) table.get(manager)).forEach((topic, groups) ->
                    told.put(topic, RocketGroup.ordered(groups)));
                return told;
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
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
}
