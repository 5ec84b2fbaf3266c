import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Queue;
import java.util.Scanner;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * Members of share groups, each in a thread of its own, and producers; written for kafka-clients from 4.2 on.
 *
 * Commands come on standard input, their words with tabs between: start NAME TOPIC HANDLE SETTING=VALUE... (HANDLE:
 * milliseconds for a record), slow NAME MILLISECONDS (the next record), close NAME, produce BOOTSTRAP TOPIC PARTITIONS
 * INTERVAL COUNT (COUNT times a record to each partition, every INTERVAL milliseconds). Lines on standard output tell
 * milliseconds of the wall clock, kind, name, partition, offset and delivery count, with tabs between. The code of a
 * member cannot handle a record whose value is "poison": it releases it, in explicit mode. It rejects "reject" there, and
 * needs more time for "renew".
 */
public class ShareMembers {
    private static final Map<String, Member> MEMBERS = new ConcurrentHashMap<>();

    public static void main(String[] arguments) {
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String[] words = lines.nextLine().split("\t");
            switch (words[0]) {
                case "start" -> begin(words);
                case "produce" -> new Thread(() -> produce(words)).start();
                case "poison" -> new Thread(() -> poison(words)).start();
                default -> MEMBERS.get(words[1]).commands.add(words);
            }
        }
        System.exit(0);
    }

    private static void begin(String[] words) {
        Properties settings = settings(List.of(words).subList(4, words.length));
        Member member = new Member(words[1], words[2], Long.parseLong(words[3]), settings);
        MEMBERS.put(words[1], member);
        member.start();
    }

    private static Properties settings(List<String> given) {
        Properties settings = new Properties();
        for (String setting : given) {
            String[] parts = setting.split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        return settings;
    }

    private static KafkaProducer<String, String> producer(String bootstrap) {
        Properties settings = settings(List.of("bootstrap.servers=" + bootstrap, "linger.ms=0"));
        String serializer = "org.apache.kafka.common.serialization.StringSerializer";
        settings.put("key.serializer", serializer);
        settings.put("value.serializer", serializer);
        return new KafkaProducer<>(settings);
    }

    private static void produce(String[] words) {
        try (KafkaProducer<String, String> producer = producer(words[1])) {
            producer.partitionsFor(words[2]);
            long began = System.currentTimeMillis();
            print("producing", "", words[2], -1, Integer.parseInt(words[5]));
            for (int n = 0; n < Integer.parseInt(words[5]); n++) {
                long due = began + (n + 1) * Long.parseLong(words[4]);
                Thread.sleep(Math.max(0, due - System.currentTimeMillis()));
                for (int partition = 0; partition < Integer.parseInt(words[3]); partition++) {
                    producer.send(new ProducerRecord<>(words[2], partition, "key", "value"));
                }
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private static void poison(String[] words) {
        try (KafkaProducer<String, String> producer = producer(words[1])) {
            producer.send(new ProducerRecord<>(words[2], Integer.parseInt(words[3]), "key", "poison"));
        }
    }

    private static synchronized void print(String kind, String name, String where, long offset, int count) {
        System.out.println(
                System.currentTimeMillis() + "\t" + kind + "\t" + name + "\t" + where + "\t" + offset + "\t" + count);
        System.out.flush();
    }

    private static final class Member extends Thread {
        final Queue<String[]> commands = new ConcurrentLinkedQueue<>();
        private final KafkaShareConsumer<String, String> consumer;
        private final String topic;
        private final long handle;
        private final boolean explicit;
        private final Set<Long> renewed = new HashSet<>();
        private long slow = 0;
        private boolean closes = false;

        Member(String name, String topic, long handle, Properties settings) {
            super(name);
            this.topic = topic;
            this.handle = handle;
            String deserializer = "org.apache.kafka.common.serialization.StringDeserializer";
            settings.put("key.deserializer", deserializer);
            settings.put("value.deserializer", deserializer);
            explicit = "explicit".equals(settings.get("share.acknowledgement.mode"));
            consumer = new KafkaShareConsumer<>(settings);
            consumer.setAcknowledgementCommitCallback((offsets, error) -> {
                if (error != null) {
                    offsets.forEach((where, of) -> of.forEach(
                            offset -> print("refused " + error.getClass().getSimpleName(), name,
                                    where.topicPartition().toString(), offset, -1)));
                }
            });
        }

        @Override
        public void run() {
            consumer.subscribe(List.of(topic));
            print("started", getName(), "", -1, -1);
            try {
                while (!closes) {
                    List<ConsumerRecord<String, String>> records = new ArrayList<>();
                    consumer.poll(Duration.ofMillis(100)).forEach(records::add);
                    for (ConsumerRecord<String, String> record : records) {
                        tell("given", record);
                    }
                    for (ConsumerRecord<String, String> record : records) {
                        handle(record);
                    }
                    obey();
                }
                print("closing", getName(), "", -1, -1);
            } catch (Exception error) {
                print("error " + error.toString().replace('\n', ' '), getName(), "", -1, -1);
            }
            consumer.close();
            print("closed", getName(), "", -1, -1);
        }

        private void obey() {
            for (String[] command = commands.poll(); command != null; command = commands.poll()) {
                if (command[0].equals("slow")) {
                    slow = Long.parseLong(command[2]);
                } else {
                    closes = true;
                }
            }
        }

        private void handle(ConsumerRecord<String, String> record) throws InterruptedException {
            obey();
            long takes = slow > 0 ? slow : handle;
            slow = 0;
            Thread.sleep(takes);
            String value = explicit ? record.value() : "";
            AcknowledgeType type = switch (value) {
                case "poison" -> AcknowledgeType.RELEASE;
                case "reject" -> AcknowledgeType.REJECT;
                case "renew" -> renewed.add(record.offset()) ? AcknowledgeType.RENEW : AcknowledgeType.ACCEPT;
                default -> AcknowledgeType.ACCEPT;
            };
            tell(switch (type) {
                case RELEASE -> "failed";
                case REJECT -> "rejected";
                case RENEW -> "renewed";
                default -> "handled";
            }, record);
            if (explicit) {
                consumer.acknowledge(record, type);
            }
        }

        private void tell(String kind, ConsumerRecord<String, String> record) {
            String where = record.topic() + "-" + record.partition();
            print(kind, getName(), where, record.offset(), record.deliveryCount().orElse((short) -1));
        }
    }
}
