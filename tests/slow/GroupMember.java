import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/**
 * A member of a group until its standard input ends: TOPIC,TOPIC NAME=VALUE...
 *
 * With commit=sync it commits by commitSync() after each poll with records, and in the callbacks of revoked and lost
 * partitions. Prints lines of milliseconds of the wall clock, kind, member id, and what it is about: partitions that the
 * listener is told, a record that was read (partition:offset), an exception that it caught (where and class), or the
 * class of an error that ended it.
 */
public class GroupMember {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        for (String setting : List.of(arguments).subList(1, arguments.length)) {
            String[] parts = setting.split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        boolean commits = "sync".equals(settings.remove("commit"));
        String deserializer = "org.apache.kafka.common.serialization.ByteArrayDeserializer";
        settings.put("key.deserializer", deserializer);
        settings.put("value.deserializer", deserializer);
        AtomicBoolean ended = new AtomicBoolean();
        Thread reader = new Thread(() -> waitForTheEnd(ended));
        reader.setDaemon(true);
        reader.start();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings)) {
            consumer.subscribe(List.of(arguments[0].split(",")), new Listener(consumer, commits));
            while (!ended.get()) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(50));
                for (ConsumerRecord<byte[], byte[]> each : records) {
                    print("read", consumer, each.topic() + "-" + each.partition() + ":" + each.offset());
                }
                if (commits && !records.isEmpty()) {
                    commit("loop", consumer);
                }
            }
        } catch (RuntimeException error) {
            print("error", null, error.getClass().getSimpleName());
        }
        print("closed", null, "");
    }

    private static void commit(String where, KafkaConsumer<byte[], byte[]> consumer) {
        try {
            consumer.commitSync();
        } catch (RuntimeException error) {
            print("caught", consumer, where + " " + error.getClass().getSimpleName());
        }
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

    private record Listener(KafkaConsumer<byte[], byte[]> consumer, boolean commits) implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            tell("assigned", partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            commit("revoked");
            tell("revoked", partitions);
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            commit("lost");
            tell("lost", partitions);
        }

        private void commit(String where) {
            if (commits) {
                GroupMember.commit(where, consumer);
            }
        }

        private void tell(String kind, Collection<TopicPartition> partitions) {
            print(kind, consumer, String.join(",", partitions.stream().map(TopicPartition::toString).sorted().toList()));
        }
    }
}
