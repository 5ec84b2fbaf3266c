import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A plain share consumer with Kafka's own client (from 4.2 on): it says of each record what became of it.
 *  Arguments: BOOTSTRAP TOPIC GROUP. */
public class JavaShareConsumer {
    private static final long SLOW_MS = Long.parseLong(System.getenv().getOrDefault("EQUIPOISE_CALLBACK_MS", "0"));
    private static final int FAILS = Integer.parseInt(System.getenv().getOrDefault("EQUIPOISE_FAIL_FIRST", "0"));
    private static final boolean REJECTS = "1".equals(System.getenv("EQUIPOISE_REJECT_FIRST"));

    private final KafkaShareConsumer<byte[], byte[]> consumer;
    private volatile boolean running = true;
    private String first;
    private int failed = 0;

    JavaShareConsumer(Properties settings) {
        consumer = new KafkaShareConsumer<>(settings);
        consumer.setAcknowledgementCommitCallback((offsets, error) -> {
            if (error != null) {
                System.err.println("not acknowledged: " + error);
            }
        });
    }

    public static void main(String[] args) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("group.id", args[2]);
        settings.put("share.acknowledgement.mode", "explicit");
        settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
        settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
        JavaShareConsumer made = new JavaShareConsumer(settings);
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
        consumer.subscribe(List.of(topic));
        try {
            while (running) {
                for (ConsumerRecord<byte[], byte[]> each : consumer.poll(Duration.ofMillis(200))) {
                    if (!running) {
                        break; // close() gives back what is left
                    }
                    consumer.acknowledge(each, handle(each));
                }
            }
        } catch (WakeupException told) {
            // it shall end
        } finally {
            consumer.close();
        }
    }

    private AcknowledgeType handle(ConsumerRecord<byte[], byte[]> record) {
        String place = record.topic() + " " + record.partition() + " " + record.offset();
        if (first == null) {
            first = place;
        }
        if (place.equals(first) && REJECTS) {
            return AcknowledgeType.REJECT;
        }
        if (place.equals(first) && failed < FAILS) {
            failed++;
            return AcknowledgeType.RELEASE;
        }
        try {
            Thread.sleep(SLOW_MS);
        } catch (InterruptedException ended) {
            return AcknowledgeType.RELEASE;
        }
        System.out.println(place + " " + record.deliveryCount().orElse((short) 0));
        return AcknowledgeType.ACCEPT;
    }
}
