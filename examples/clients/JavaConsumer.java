import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A plain consumer with Kafka's own client: it commits what it has handled, also before partitions are taken away.
 *  Arguments: BOOTSTRAP TOPIC GROUP [classic|consumer]. */
public class JavaConsumer implements ConsumerRebalanceListener {
    private final Map<TopicPartition, OffsetAndMetadata> handled = new HashMap<>();
    private final long slowCallbackMs =
        Long.parseLong(System.getenv().getOrDefault("EQUIPOISE_CALLBACK_MS", "0"));
    private final KafkaConsumer<byte[], byte[]> consumer;
    private volatile boolean running = true;

    JavaConsumer(Properties settings) {
        consumer = new KafkaConsumer<>(settings);
    }

    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("group.id", args[2]);
        if (args.length > 3) { // older clients know no such setting
            settings.put("group.protocol", args[3]);
        }
        if (System.getenv("EQUIPOISE_INSTANCE_ID") != null) {
            settings.put("group.instance.id", System.getenv("EQUIPOISE_INSTANCE_ID"));
        }
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
        settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
        JavaConsumer made = new JavaConsumer(settings);
        Thread loop = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> made.end(loop)));
        made.run(args[1]);
    }

    private void end(Thread loop) {
        running = false;
        consumer.wakeup();
        try {
            loop.join(5000);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void run(String topic) {
        consumer.subscribe(List.of(topic), this);
        try {
            while (running) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(200));
                for (ConsumerRecord<byte[], byte[]> each : records) {
                    System.out.println(each.topic() + " " + each.partition() + " " + each.offset());
                    handled.put(
                        new TopicPartition(each.topic(), each.partition()), new OffsetAndMetadata(each.offset() + 1));
                }
                if (!records.isEmpty()) {
                    commit();
                }
            }
        } catch (WakeupException told) {
            // it shall end
        } finally {
            consumer.close();
        }
    }

    /** In a rebalance somebody else may own it already. */
    private void commit() {
        try {
            consumer.commitSync(handled);
        } catch (CommitFailedException | RebalanceInProgressException error) {
            System.err.println("not committed: " + error);
        }
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
        try {
            Thread.sleep(slowCallbackMs);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        if (!handled.isEmpty()) {
            commit();
        }
        handled.keySet().removeAll(revoked);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> lost) {
        handled.keySet().removeAll(lost);
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
    }
}
