import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.impl.consumer.ProcessQueue;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

/**
 * Members of RocketMQ groups on released push consumers, many in one process. Commands come as lines with tabs between
 * the words:
 * start NAME NAMESRV GROUP IP STRATEGY_CLASS THREADS FROM_WHERE orderly|concurrently TOPICS (with commas between),
 * close NAME, subscribe NAME TOPIC, unsubscribe NAME TOPIC, reset NAME ADDRESSES (with commas between).
 *
 * Every line printed begins with milliseconds since the epoch, kind, name, an empty id and 0. Then come, for "owns", the
 * queues in the process queue table (looked at each 50 ms, told when it has changed); for "rpc", the code and the
 * address of a request of the member or to it; for "read", the queue and the offsets from and before which were handled.
 */
public class RocketMembers {
    static final PrintStream OUT = System.out;
    static final Map<String, Member> MEMBERS = new ConcurrentHashMap<>();

    static class Member {
        final String name;
        final DefaultMQPushConsumer consumer;
        String owned;

        Member(String name, DefaultMQPushConsumer consumer) {
            this.name = name;
            this.consumer = consumer;
        }

        void look() {
            TreeSet<String> queues = new TreeSet<>();
            for (Map.Entry<MessageQueue, ProcessQueue> each
                : consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().entrySet()) {
                if (!each.getValue().isDropped()) {
                    queues.add(text(each.getKey()));
                }
            }
            String now = String.join(",", queues);
            if (!now.equals(owned)) {
                owned = now;
                tell("owns", name, now);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.setOut(System.err);
        Thread looker = new Thread(() -> {
            while (true) {
                MEMBERS.values().forEach(Member::look);
                try {
                    Thread.sleep(50);
                } catch (InterruptedException ended) {
                    return;
                }
            }
        });
        looker.setDaemon(true);
        looker.start();
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String[] words = lines.nextLine().split("\t", -1);
            new Thread(() -> {
                try {
                    command(words);
                } catch (Throwable failure) {
                    tell("failed", words[1], String.valueOf(failure));
                }
            }).start();
        }
    }

    static void command(String[] words) throws Exception {
        if (words[0].equals("start")) {
            start(words);
            return;
        }
        Member member = MEMBERS.get(words[1]);
        switch (words[0]) {
            case "close":
                tell("closing", member.name);
                member.consumer.shutdown();
                tell("closed", member.name);
                break;
            case "subscribe":
                member.consumer.subscribe(words[2], "*");
                tell("subscribed", member.name);
                break;
            case "unsubscribe":
                member.consumer.unsubscribe(words[2]);
                tell("unsubscribed", member.name);
                break;
            case "reset":
                member.consumer.getDefaultMQPushConsumerImpl().getmQClientFactory().getMQClientAPIImpl()
                    .getRemotingClient().closeChannels(new ArrayList<>(Arrays.asList(words[2].split(","))));
                tell("channels_closed", member.name);
                break;
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    static void start(String[] words) throws Exception {
        String name = words[1];
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(words[3], new RPCHook() {
            @Override
            public void doBeforeRequest(String address, RemotingCommand request) {
                tell("rpc", name, String.valueOf(request.getCode()), address);
            }

            @Override
            public void doAfterResponse(String address, RemotingCommand request, RemotingCommand response) {
            }
        }, (AllocateMessageQueueStrategy) Class.forName(words[5]).getDeclaredConstructor().newInstance());
        consumer.setNamesrvAddr(words[2]);
        consumer.setClientIP(words[4]);
        consumer.setInstanceName(words[3]);
        consumer.setConsumeThreadMin(Integer.parseInt(words[6]));
        consumer.setConsumeThreadMax(Integer.parseInt(words[6]));
        consumer.setConsumeFromWhere(ConsumeFromWhere.valueOf(words[7]));
        for (String topic : words[9].split(",")) {
            consumer.subscribe(topic, "*");
        }
        if (words[8].equals("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (records, context) -> {
                handled(name, records, context.getMessageQueue());
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (records, context) -> {
                handled(name, records, context.getMessageQueue());
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        MEMBERS.put(name, new Member(name, consumer));
        consumer.start();
        tell("started", name);
    }

    static void handled(String name, List<MessageExt> records, MessageQueue queue) {
        for (MessageExt each : records) {
            long offset = each.getQueueOffset();
            tell("read", name, text(queue), String.valueOf(offset), String.valueOf(offset + 1));
        }
    }

    static String text(MessageQueue queue) {
        return queue.getTopic() + "|" + queue.getBrokerName() + "|" + queue.getQueueId();
    }

    static synchronized void tell(String kind, String name, String... about) {
        String start = System.currentTimeMillis() + "\t" + kind + "\t" + name + "\t\t0";
        OUT.println(about.length == 0 ? start : start + "\t" + String.join("\t", about));
        OUT.flush();
    }
}
