import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.Scanner;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;

/** A consumer that polls and prints what its listener is told: milliseconds of the wall clock, kind, partitions, epoch. */
public class KafkaMember {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        for (int n = 1; n < arguments.length; n++) {
            String[] parts = arguments[n].split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        String deserializer = "org.apache.kafka.common.serialization.StringDeserializer";
        settings.put("key.deserializer", deserializer);
        settings.put("value.deserializer", deserializer);
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings);
        subscribe(consumer, arguments[0]);
        AtomicReference<String> command = new AtomicReference<>("");
        Thread reader = new Thread(() -> read(command));
        reader.setDaemon(true);
        reader.start();
        while (!command.get().equals("close")) {
            String now = command.getAndSet("");
            if (now.startsWith("sleep ")) {
                Thread.sleep(Long.parseLong(now.substring(6)));
            } else if (now.startsWith("subscribe ")) {
                subscribe(consumer, now.substring(10));
            } else if (now.equals("close")) {
                break;
            }
            try {
                consumer.poll(Duration.ofMillis(20));
            } catch (RuntimeException error) {
                print("error", error.getClass().getSimpleName(), -1);
                break;
            }
        }
        consumer.close();
        print("closed", "", -1);
    }

    /** Topics with commas between, or behind a tilde a pattern that the broker resolves. */
    private static void subscribe(KafkaConsumer<String, String> consumer, String to) {
        if (to.startsWith("~")) {
            consumer.subscribe(new SubscriptionPattern(to.substring(1)), new Listener(consumer));
        } else {
            consumer.subscribe(List.of(to.split(",")), new Listener(consumer));
        }
    }

    private static void read(AtomicReference<String> command) {
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            command.set(lines.nextLine());
        }
    }

    private static synchronized void print(String kind, String about, int epoch) {
        System.out.println(System.currentTimeMillis() + "\t" + kind + "\t" + about + "\t" + epoch);
        System.out.flush();
    }

    private record Listener(KafkaConsumer<String, String> consumer) implements ConsumerRebalanceListener {
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
            List<String> names = partitions.stream().map(TopicPartition::toString).sorted().toList();
            print(kind, String.join(",", names), consumer.groupMetadata().generationId());
        }
    }
}
