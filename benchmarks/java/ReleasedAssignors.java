import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.MemberSubscription;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;

/**
 * Asks the released assignors. Cases come on standard input, fields parted by tabs, "-" for none:
 *
 *   case    ASSIGNOR  ROUNDS                  (0 rounds: answer, no timing)
 *   topic   NAME  PARTITIONS  RACKS           (RACKS: per partition "a,b", partitions parted by ";")
 *   member  ID  INSTANCE  RACK  TOPICS  CLAIMS  GENERATION_FIELD  CLAIM_GENERATION   (TOPICS "a,b"; CLAIMS "a:0,a:1")
 *   end
 *
 * ASSIGNOR is range, roundrobin, sticky, cooperative-sticky (the client's), or server-range, uniform (the coordinator's,
 * timed only; CLAIMS are the target assignment before).
 *
 * Answer of a timed case: "time MILLISECONDS LEAST MOST TOTAL" (best of the rounds, sizes of the answer).
 * Answer of the others: "error NAME", or one line "ID TAB a:0,a:1" per member in the order of the members map; then "end".
 */
public final class ReleasedAssignors {
    private String assignor;
    private int rounds;
    private final Map<String, String[]> topics = new LinkedHashMap<>();
    private final List<String[]> members = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        ReleasedAssignors current = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] fields = line.split("\t", -1);
            switch (fields[0]) {
                case "case":
                    current = new ReleasedAssignors();
                    current.assignor = fields[1];
                    current.rounds = Integer.parseInt(fields[2]);
                    break;
                case "topic":
                    current.topics.put(fields[1], fields);
                    break;
                case "member":
                    current.members.add(fields);
                    break;
                default:
                    current.answer(out);
                    out.flush();
            }
        }
    }

    private void answer(PrintStream out) {
        Cluster cluster = cluster();
        if (rounds > 0) {
            time(cluster, out);
            return;
        }
        Map<String, Subscription> subscriptions = subscriptions();
        try {
            Map<String, Assignment> found = assign(cluster, subscriptions);
            for (String id : subscriptions.keySet()) {
                List<String> owned = new ArrayList<>();
                for (TopicPartition each : found.get(id).partitions())
                    owned.add(each.topic() + ":" + each.partition());
                out.println(id + "\t" + String.join(",", owned));
            }
        } catch (RuntimeException error) {
            out.println("error\t" + error.getClass().getSimpleName());
        }
        out.println("end");
    }

    private void time(Cluster cluster, PrintStream out) {
        boolean server = assignor.equals("server-range") || assignor.equals("uniform");
        double best = Double.MAX_VALUE;
        List<Integer> sizes = new ArrayList<>();
        for (int round = 0; round < rounds; round++) {
            Map<String, Subscription> subscriptions = server ? null : subscriptions();
            ServerGroup group = server ? serverGroup() : null;
            sizes.clear();
            long start = System.nanoTime();
            if (server) {
                GroupAssignment found = assignOnServer(group);
                best = Math.min(best, (System.nanoTime() - start) / 1e6);
                for (MemberAssignment each : found.members().values())
                    sizes.add(each.partitions().values().stream().mapToInt(Set::size).sum());
            } else {
                Map<String, Assignment> found = assign(cluster, subscriptions);
                best = Math.min(best, (System.nanoTime() - start) / 1e6);
                for (Assignment each : found.values())
                    sizes.add(each.partitions().size());
            }
        }
        int least = Integer.MAX_VALUE, most = 0, total = 0;
        for (int size : sizes) {
            least = Math.min(least, size);
            most = Math.max(most, size);
            total += size;
        }
        out.println("time\t" + best + "\t" + least + "\t" + most + "\t" + total);
    }

    private Map<String, Assignment> assign(Cluster cluster, Map<String, Subscription> subscriptions) {
        ConsumerPartitionAssignor fresh;
        switch (assignor) {
            case "range": fresh = new RangeAssignor(); break;
            case "roundrobin": fresh = new RoundRobinAssignor(); break;
            case "sticky": fresh = new StickyAssignor(); break;
            default: fresh = new CooperativeStickyAssignor();
        }
        return fresh.assign(cluster, new GroupSubscription(subscriptions)).groupAssignment();
    }

    private GroupAssignment assignOnServer(ServerGroup group) {
        ConsumerGroupPartitionAssignor fresh = assignor.equals("uniform")
            ? new UniformAssignor()
            : new org.apache.kafka.coordinator.group.assignor.RangeAssignor();
        return fresh.assign(group, group);
    }

    /** What the coordinator hands to its assignor; a topic's id is its place in the case. */
    private record ServerGroup(
        Map<Uuid, Integer> counts,
        Map<String, MemberSubscription> wanted,
        Map<String, MemberAssignment> targets,
        Map<Uuid, Set<Integer>> assigned,
        SubscriptionType subscriptionType
    ) implements GroupSpec, SubscribedTopicDescriber {
        public int numPartitions(Uuid topic) { return counts.getOrDefault(topic, -1); }
        public Set<String> racksForPartition(Uuid topic, int partition) { return Set.of(); }
        public Collection<String> memberIds() { return wanted.keySet(); }
        public boolean isPartitionAssigned(Uuid topic, int partition) {
            return assigned.getOrDefault(topic, Set.of()).contains(partition);
        }
        public boolean isPartitionAssignable(Uuid topic, int partition) { return true; }
        public MemberSubscription memberSubscription(String id) { return wanted.get(id); }
        public MemberAssignment memberAssignment(String id) { return targets.get(id); }
    }

    private record Wanted(Optional<String> rackId, Optional<String> instanceId, Set<Uuid> subscribedTopicIds)
        implements MemberSubscription { }

    private record Target(Map<Uuid, Set<Integer>> partitions) implements MemberAssignment { }

    private ServerGroup serverGroup() {
        Map<String, Uuid> ids = new HashMap<>();
        Map<Uuid, Integer> counts = new HashMap<>();
        for (String[] topic : topics.values()) {
            Uuid id = new Uuid(7, ids.size() + 1);
            ids.put(topic[1], id);
            counts.put(id, Integer.valueOf(topic[2]));
        }
        Map<String, MemberSubscription> wanted = new HashMap<>();
        Map<String, MemberAssignment> targets = new HashMap<>();
        Map<Uuid, Set<Integer>> assigned = new HashMap<>();
        Map<String, Set<Uuid>> seen = new HashMap<>();
        for (String[] member : members) {
            Set<Uuid> wants = seen.computeIfAbsent(member[4], it -> {
                Set<Uuid> found = new HashSet<>();
                names(it).forEach(topic -> found.add(ids.get(topic)));
                return found;
            });
            wanted.put(member[1], new Wanted(Optional.empty(), Optional.empty(), wants));
            Map<Uuid, Set<Integer>> target = new HashMap<>();
            for (TopicPartition each : claims(member)) {
                Uuid id = ids.get(each.topic());
                target.computeIfAbsent(id, it -> new HashSet<>()).add(each.partition());
                assigned.computeIfAbsent(id, it -> new HashSet<>()).add(each.partition());
            }
            targets.put(member[1], new Target(Collections.unmodifiableMap(target)));
        }
        SubscriptionType type = seen.size() == 1 ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        return new ServerGroup(counts, wanted, targets, assigned, type);
    }

    private Cluster cluster() {
        Map<String, Node> nodes = new HashMap<>();
        List<PartitionInfo> partitions = new ArrayList<>();
        Node anywhere = new Node(0, "host", 9092, null);
        nodes.put("", anywhere);
        for (String[] topic : topics.values()) {
            String[] racks = topic[3].equals("-") ? null : topic[3].split(";", -1);
            for (int number = 0; number < Integer.parseInt(topic[2]); number++) {
                List<Node> replicas = new ArrayList<>();
                if (racks == null)
                    replicas.add(anywhere);
                else
                    for (String rack : names(racks[number]))
                        replicas.add(nodes.computeIfAbsent(rack, it -> new Node(nodes.size(), "host", 9092, it)));
                Node[] listed = replicas.toArray(new Node[0]);
                Node leader = listed.length == 0 ? null : listed[0];
                partitions.add(new PartitionInfo(topic[1], number, leader, listed, listed));
            }
        }
        return new Cluster("cluster", nodes.values(), partitions, new HashSet<>(), new HashSet<>());
    }

    private Map<String, Subscription> subscriptions() {
        Map<String, Subscription> found = new HashMap<>();
        for (String[] member : members) {
            List<TopicPartition> claims = claims(member);
            Integer field = number(member[6]), claimed = number(member[7]);
            boolean eager = assignor.equals("sticky");
            Subscription subscription = new Subscription(
                names(member[4]),
                eager ? previousAssignment(claims, claimed) : claimed == null ? null : integer(claimed),
                eager ? List.of() : claims,
                field == null ? -1 : field,
                member[3].equals("-") ? Optional.empty() : Optional.of(member[3]));
            if (!member[2].equals("-"))
                subscription.setGroupInstanceId(Optional.of(member[2]));
            found.put(member[1], subscription);
        }
        return found;
    }

    private static List<TopicPartition> claims(String[] member) {
        List<TopicPartition> found = new ArrayList<>();
        for (String each : names(member[5])) {
            int colon = each.lastIndexOf(':');
            found.add(new TopicPartition(each.substring(0, colon), Integer.parseInt(each.substring(colon + 1))));
        }
        return found;
    }

    /** The user data of the sticky assignor: version 1 with a generation, version 0 without. */
    private static ByteBuffer previousAssignment(List<TopicPartition> claims, Integer generation) {
        if (claims.isEmpty() && generation == null)
            return null;
        Map<String, List<Integer>> grouped = new HashMap<>();
        for (TopicPartition each : claims)
            grouped.computeIfAbsent(each.topic(), it -> new ArrayList<>()).add(each.partition());
        int longest = grouped.keySet().stream().mapToInt(String::length).max().orElse(0);
        ByteBuffer bytes = ByteBuffer.allocate(8 + grouped.size() * (6 + 3 * longest) + 4 * claims.size());
        bytes.putInt(grouped.size());
        grouped.forEach((topic, numbers) -> {
            byte[] name = topic.getBytes(StandardCharsets.UTF_8);
            bytes.putShort((short) name.length).put(name).putInt(numbers.size());
            numbers.forEach(bytes::putInt);
        });
        if (generation != null)
            bytes.putInt(generation);
        bytes.flip();
        return bytes;
    }

    private static ByteBuffer integer(int value) {
        return ByteBuffer.wrap(ByteBuffer.allocate(4).putInt(value).array());
    }

    private static Integer number(String field) {
        return field.equals("-") ? null : Integer.valueOf(field);
    }

    private static List<String> names(String field) {
        return field.equals("-") ? List.of() : Arrays.asList(field.split(",", -1));
    }
}
