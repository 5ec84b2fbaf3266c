import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;

/** Moves records from "orders" to "invoices", a few in each transaction. BOOTSTRAP TRANSACTIONAL-ID [NAME=VALUE...] */
public class MoveByClients {
    public static void main(String[] given) throws Exception {
        Properties common = new Properties();
        common.put("bootstrap.servers", given[0]);
        Properties reading = new Properties();
        reading.putAll(common);
        reading.putAll(Map.of("group.id", "movers", "auto.offset.reset", "earliest", "enable.auto.commit", "false"));
        reading.putAll(Map.of("isolation.level", "read_committed", "max.poll.records", "10"));
        for (int at = 2; at < given.length; at++) {
            reading.put(given[at].split("=")[0], given[at].split("=")[1]);
        }
        String text = "org.apache.kafka.common.serialization.String";
        reading.putAll(Map.of("key.deserializer", text + "Deserializer", "value.deserializer", text + "Deserializer"));
        Properties writing = new Properties();
        writing.putAll(common);
        writing.putAll(Map.of("transactional.id", given[1], "transaction.timeout.ms", "3000"));
        writing.putAll(Map.of("key.serializer", text + "Serializer", "value.serializer", text + "Serializer"));
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(reading);
        KafkaProducer<String, String> producer = new KafkaProducer<>(writing);
        producer.initTransactions();
        consumer.subscribe(List.of("orders"));
        System.out.println("begun");
        while (true) {
            ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(200));
            if (records.isEmpty()) {
                continue;
            }
            try {
                move(producer, consumer, records);
            } catch (ProducerFencedException | InvalidProducerEpochException fenced) {
                System.out.println("fenced " + fenced.getClass().getSimpleName());
                System.exit(3);
            } catch (KafkaException failed) {
                System.out.println("aborts " + failed.getClass().getSimpleName());
                producer.abortTransaction();
                for (TopicPartition partition : consumer.assignment()) {
                    OffsetAndMetadata committed = consumer.committed(java.util.Set.of(partition)).get(partition);
                    consumer.seek(partition, committed == null ? 0 : committed.offset());
                }
            }
        }
    }

    private static void move(
        KafkaProducer<String, String> producer,
        KafkaConsumer<String, String> consumer,
        ConsumerRecords<String, String> records
    ) throws Exception {
        producer.beginTransaction();
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (ConsumerRecord<String, String> each : records) {
            producer.send(new ProducerRecord<>("invoices", each.key(), each.value()));
            offsets.put(new TopicPartition(each.topic(), each.partition()), new OffsetAndMetadata(each.offset() + 1));
            Thread.sleep(20);
        }
        producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
        producer.commitTransaction();
        System.out.println("moved " + records.count());
    }
}
