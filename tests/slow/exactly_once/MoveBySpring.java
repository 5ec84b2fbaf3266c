import java.util.Map;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.transaction.KafkaTransactionManager;

/** Moves records from "orders" to "invoices" by a transactional template. BOOTSTRAP FOLDER, whose name begins the ids. */
public class MoveBySpring {
    public static void main(String[] given) throws Exception {
        DefaultKafkaProducerFactory<String, String> producers = new DefaultKafkaProducerFactory<>(
            Map.of("bootstrap.servers", given[0], "transaction.timeout.ms", 3000),
            new StringSerializer(), new StringSerializer());
        producers.setTransactionIdPrefix(given[1]);
        DefaultKafkaConsumerFactory<String, String> consumers = new DefaultKafkaConsumerFactory<>(
            Map.of("bootstrap.servers", given[0], "group.id", "movers", "auto.offset.reset", "earliest",
                "isolation.level", "read_committed", "session.timeout.ms", 6000, "max.poll.records", 10),
            new StringDeserializer(), new StringDeserializer());
        KafkaTemplate<String, String> template = new KafkaTemplate<>(producers);
        ContainerProperties container = new ContainerProperties("orders");
        container.setKafkaAwareTransactionManager(new KafkaTransactionManager<>(producers));
        container.setMessageListener((MessageListener<String, String>) each -> {
            template.send("invoices", each.key(), each.value());
            try {
                Thread.sleep(20);
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
            }
        });
        new KafkaMessageListenerContainer<>(consumers, container).start();
        Thread.sleep(Long.MAX_VALUE);
    }
}
