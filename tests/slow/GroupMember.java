import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/**
 * A member of a group until its standard input ends: TOPIC,TOPIC NAME=VALUE...
 *
 * Prints lines of milliseconds of the wall clock, kind, member id, and what it is about: partitions that the listener is
 * told, a record that was read (partition:offset), or the class of an error.
 */
public class GroupMember {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        for (String setting : List.of(arguments).subList(1, arguments.length)) {
            String[] parts = setting.split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        String deserializer = "org.apache.kafka.common.serialization.ByteArrayDeserializer";
        settings.put("key.deserializer", deserializer);
        settings.put("value.deserializer", deserializer);
        AtomicBoolean ended = new AtomicBoolean();
        Thread reader = new Thread(() -> waitForTheEnd(ended));
        reader.setDaemon(true);
        reader.start();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings)) {
            consumer.subscribe(List.of(arguments[0].split(",")), new Listener(consumer));
            while (!ended.get()) {
                for (ConsumerRecord<byte[], byte[]> each : consumer.poll(Duration.ofMillis(50))) {
                    print("read", consumer, each.topic() + "-" + each.partition() + ":" + each.offset());
                }
            }
        } catch (RuntimeException error) {
            print("error", null, error.getClass().getSimpleName());
        }
        print("closed", null, "");
    }

    private static void waitForTheEnd(AtomicBoolean ended) {
        try {
            while (System.in.read() >= 0) {
            }
        } catch (java.io.IOException error) {
            // It has ended, too.
        }
        ended.set(true);
    }

    private static synchronized void print(String kind, KafkaConsumer<byte[], byte[]> consumer, String about) {
        String id = consumer == null ? "" : consumer.groupMetadata().memberId();
        System.out.println(System.currentTimeMillis() + "\t" + kind + "\t" + id + "\t" + about);
        System.out.flush();
    }

    private record Listener(KafkaConsumer<byte[], byte[]> consumer) implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            tell("assigned", partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            tell("revoked", partitions);
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            tell("lost", partitions);
        }

        private void tell(String kind, Collection<TopicPartition> partitions) {
            print(kind, consumer, String.join(",", partitions.stream().map(TopicPartition::toString).sorted().toList()));
        }
    }
}
