import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;

/** Groups of the kinds that only Java has, until standard input ends: BOOTSTRAP, then kinds (share, streams, ...). */
public class GroupKinds {
    public static void main(String[] arguments) throws Exception {
        for (String kind : List.of(arguments).subList(1, arguments.length)) {
            switch (kind) {
                case "share" -> {
                    fromEarliest(arguments[0], "share");
                    share(arguments[0], "share", "share-1", List.of("orders", "payments.eu"));
                    share(arguments[0], "share", "share-2", List.of("orders"));
                    share(arguments[0], "share", "share-3", List.of("single"));
                }
                case "streams" -> streams(arguments[0], "streams-app", "streams");
                case "streams-classic" -> streams(arguments[0], "streams-classic", "classic");
                case "pattern" -> {
                    consumer(arguments[0], "pattern", "consumer", new SubscriptionPattern("(orders|single)"), null);
                    consumer(arguments[0], "pattern", "consumer", new SubscriptionPattern("orders"), "pod-1");
                }
                case "mixed" -> {
                    consumer(arguments[0], "mixed", "classic", Pattern.compile("orders"), null);
                    consumer(arguments[0], "mixed", "consumer", new SubscriptionPattern("orders"), null);
                }
                default -> throw new IllegalArgumentException(kind);
            }
        }
        System.out.println("started");
        while (System.in.read() >= 0) {
        }
        System.exit(0);
    }

    private static Properties settings(String bootstrap, String group, String client) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", group);
        settings.put("client.id", client);
        String deserializer = "org.apache.kafka.common.serialization.StringDeserializer";
        settings.put("key.deserializer", deserializer);
        settings.put("value.deserializer", deserializer);
        return settings;
    }

    private static void fromEarliest(String bootstrap, String group) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            AlterConfigOp earliest = new AlterConfigOp(
                new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
            ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
            admin.incrementalAlterConfigs(Map.of(resource, List.of(earliest))).all().get();
        }
    }

    private static void share(String bootstrap, String group, String client, List<String> topics) {
        KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(settings(bootstrap, group, client));
        consumer.subscribe(topics);
        run(() -> consumer.poll(Duration.ofMillis(200)));
    }

    private static void consumer(String bootstrap, String group, String protocol, Object pattern, String instance)
            throws InterruptedException {
        Properties settings = settings(bootstrap, group, group + "-" + protocol);
        settings.put("group.protocol", protocol);
        settings.put("auto.offset.reset", "earliest");
        if (instance != null) {
            settings.put("group.instance.id", instance);
        }
        if (protocol.equals("classic")) {
            settings.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");
        }
        Consumer<String, String> consumer = new KafkaConsumer<>(settings);
        if (pattern instanceof SubscriptionPattern resolved) {
            consumer.subscribe(resolved);
        } else {
            consumer.subscribe((Pattern) pattern);
        }
        run(() -> consumer.poll(Duration.ofMillis(200)));
        Thread.sleep(4000);  // so that a group of both protocols begins with a classic member that is stable
    }

    private static void streams(String bootstrap, String application, String protocol) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("application.id", application);
        settings.put("client.id", application);
        settings.put("group.protocol", protocol);
        settings.put("num.stream.threads", "2");
        settings.put("replication.factor", "1");
        settings.put("num.standby.replicas", "0");
        settings.put("state.dir", System.getProperty("user.home") + "/" + application);
        settings.put("default.key.serde", "org.apache.kafka.common.serialization.Serdes$StringSerde");
        settings.put("default.value.serde", "org.apache.kafka.common.serialization.Serdes$StringSerde");
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream("orders").groupBy((key, value) -> value).count();
        new KafkaStreams(builder.build(), settings).start();
    }

    private static void run(Runnable poll) {
        Thread thread = new Thread(() -> {
            while (true) {
                poll.run();
            }
        });
        thread.setDaemon(true);
        thread.start();
    }
}
