import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Queue;
import java.util.Scanner;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * Members of groups, each in a thread of its own, and a producer; written for kafka-clients from 2.8 on.
 *
 * Commands come on standard input, their words with tabs between: start NAME TOPIC,TOPIC SETTING=VALUE..., subscribe NAME
 * TOPIC,TOPIC, sleep NAME MILLISECONDS, close NAME, produce BOOTSTRAP TOPIC PARTITIONS COUNT (records to each partition).
 * Instead of topics there may be a pattern behind a tilde, which the broker resolves. Lines on standard output tell
 * milliseconds of the wall clock, kind, name, member id, generation or epoch, and what it is about, with tabs between. A
 * member without enable.auto.commit commits what it has read after each poll, and with commit=callbacks also when it is
 * told that partitions are revoked or lost; "caught" tells where it caught which exception of a commit.
 */
public class Members {
    private static final Map<String, Member> MEMBERS = new ConcurrentHashMap<>();

    public static void main(String[] arguments) throws Exception {
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String[] words = lines.nextLine().split("\t");
            switch (words[0]) {
                case "start" -> begin(words);
                case "produce" -> produce(words);
                default -> MEMBERS.get(words[1]).commands.add(words);
            }
        }
        System.exit(0);
    }

    private static void begin(String[] words) {
        Member member = new Member(words[1], words[2], settings(List.of(words).subList(3, words.length)));
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

    private static void produce(String[] words) throws Exception {
        Properties settings = settings(List.of("bootstrap.servers=" + words[1], "linger.ms=5"));
        String serializer = "org.apache.kafka.common.serialization.StringSerializer";
        settings.put("key.serializer", serializer);
        settings.put("value.serializer", serializer);
        int count = Integer.parseInt(words[4]);
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            Queue<Future<RecordMetadata>> sent = new ConcurrentLinkedQueue<>();
            for (int n = 0; n < count; n++) {
                for (int partition = 0; partition < Integer.parseInt(words[3]); partition++) {
                    sent.add(producer.send(new ProducerRecord<>(words[2], partition, "key" + n, "value" + n)));
                }
            }
            for (Future<RecordMetadata> each : sent) {
                each.get();
            }
        }
        print("produced", "", "", -1, words[4]);
    }

    private static synchronized void print(String kind, String name, String id, int generation, String about) {
        long now = System.currentTimeMillis();
        System.out.println(now + "\t" + kind + "\t" + name + "\t" + id + "\t" + generation + "\t" + about);
        System.out.flush();
    }

    private static final class Member extends Thread implements ConsumerRebalanceListener {
        final Queue<String[]> commands = new ConcurrentLinkedQueue<>();
        private final String topics;
        private final KafkaConsumer<String, String> consumer;
        private final boolean commits;
        private final boolean commitsInCallbacks;

        Member(String name, String topics, Properties settings) {
            super(name);
            this.topics = topics;
            String deserializer = "org.apache.kafka.common.serialization.StringDeserializer";
            settings.put("key.deserializer", deserializer);
            settings.put("value.deserializer", deserializer);
            commits = "false".equals(settings.get("enable.auto.commit"));
            commitsInCallbacks = "callbacks".equals(settings.remove("commit"));
            consumer = new KafkaConsumer<>(settings);
        }

        @Override
        public void run() {
            try {
                subscribe(topics);
                tell("started", "");
                while (obeys(commands.poll())) {
                    handle(consumer.poll(Duration.ofMillis(100)));
                }
                tell("closing", "");
            } catch (Exception error) {
                tell("error", error.toString().replace('\n', ' '));
            }
            consumer.close();
            print("closed", getName(), "", -1, "");
        }

        private void subscribe(String to) throws ReflectiveOperationException {
            if (!to.startsWith("~")) {
                consumer.subscribe(List.of(to.split(",")), this);
                return;
            }
            // Old clients do not have the class.
            Class<?> kind = Class.forName("org.apache.kafka.clients.consumer.SubscriptionPattern");
            Object pattern = kind.getConstructor(String.class).newInstance(to.substring(1));
            KafkaConsumer.class.getMethod("subscribe", kind, ConsumerRebalanceListener.class).invoke(consumer, pattern, this);
        }

        private boolean obeys(String[] command) throws Exception {
            if (command == null) {
                return true;
            } else if (command[0].equals("subscribe")) {
                subscribe(command[2]);
                tell("subscribe", command[2]);
            } else if (command[0].equals("sleep")) {
                tell("paused", "");
                Thread.sleep(Long.parseLong(command[2]));
                tell("resumed", "");
            }
            return !command[0].equals("close");
        }

        private void handle(ConsumerRecords<String, String> records) {
            for (TopicPartition partition : records.partitions()) {
                List<ConsumerRecord<String, String>> of = records.records(partition);
                tell("read", partition + "\t" + of.get(0).offset() + "\t" + (of.get(of.size() - 1).offset() + 1));
            }
            if (commits && !records.isEmpty()) {
                commit("loop");
            }
        }

        private void commit(String where) {
            try {
                consumer.commitSync();
            } catch (RuntimeException error) {
                tell("caught", where + " " + error.getClass().getSimpleName());
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            tell("assigned", partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            gone("revoked", partitions);
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            gone("lost", partitions);
        }

        private void gone(String kind, Collection<TopicPartition> partitions) {
            if (commitsInCallbacks) {
                commit(kind);
            }
            tell(kind, partitions);
        }

        private void tell(String kind, Collection<TopicPartition> partitions) {
            tell(kind, String.join(",", partitions.stream().map(TopicPartition::toString).sorted().toList()));
        }

        private void tell(String kind, String about) {
            print(kind, getName(), consumer.groupMetadata().memberId(), consumer.groupMetadata().generationId(), about);
        }
    }
}
