import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * consume NAMESRV TOPIC GROUP INSTANCE TAGS HOW: prints each record until its input ends.
 * HOW is concurrently, orderly or failing; or popping (the broker says which queues, and whether by POP; records are
 * invisible for 5 s), popping-refusing (each record once), popping-hanging (in its first record).
 * produce NAMESRV TOPIC TAG FIRST COUNT: sends records whose bodies are numbers, half of them in batches of two.
 */
public class WireClient {
    public static void main(String[] a) throws Exception {
        if (a[0].equals("produce")) {
            produce(a[1], a[2], a[3], Integer.parseInt(a[4]), Integer.parseInt(a[5]));
        } else {
            consume(a[1], a[3], a[4], a[2], a[5], a[6]);
        }
    }

    static void produce(String server, String topic, String tag, int first, int count) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("wire_producers");
        producer.setNamesrvAddr(server);
        producer.setSendMsgTimeout(30000);
        producer.start();
        List<Message> batch = new ArrayList<>();
        for (int number = first; number < first + count; number++) {
            Message record = new Message(topic, tag, "key" + number, ("" + number).getBytes(StandardCharsets.UTF_8));
            if (number < first + count / 2) {
                show(producer.send(record));
                continue;
            }
            batch.add(record);
            if (batch.size() == 2 || number == first + count - 1) {
                SendResult sent = producer.send(batch);
                for (Message each : batch) {
                    show(sent);
                }
                batch.clear();
            }
        }
        producer.shutdown();
        System.out.println("done");
    }

    static void consume(String server, String group, String instance, String topic, String tags, String how)
        throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(server);
        consumer.setInstanceName(instance);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setMaxReconsumeTimes(how.equals("failing") ? 1 : -1);
        consumer.subscribe(topic, tags);
        if (how.startsWith("popping")) {
            // By name, because clients of 4.9 have neither.
            consumer.getClass().getMethod("setClientRebalance", boolean.class).invoke(consumer, false);
            consumer.getClass().getMethod("setPopInvisibleTime", long.class).invoke(consumer, 5000L);
        }
        if (how.equals("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (records, context) -> {
                records.forEach(each -> show(instance, each));
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (records, context) -> {
                records.forEach(each -> show(instance, each));
                if (how.equals("popping-hanging")) {
                    hang();
                }
                boolean later = how.equals("failing")
                    || how.equals("popping-refusing") && records.get(0).getReconsumeTimes() == 0;
                return later ? ConsumeConcurrentlyStatus.RECONSUME_LATER
                    : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        consumer.start();
        System.out.println("started");
        new Scanner(System.in).useDelimiter("\\A").hasNext();
        consumer.shutdown();
        System.out.println("stopped");
    }

    static void hang() {
        try {
            Thread.sleep(600000);
        } catch (InterruptedException left) {
            Thread.currentThread().interrupt();
        }
    }

    static void show(SendResult sent) {
        System.out.println("sent " + sent.getSendStatus() + " " + sent.getMessageQueue().getBrokerName() + " "
            + sent.getMessageQueue().getQueueId() + " " + sent.getQueueOffset());
    }

    static void show(String instance, MessageExt each) {
        System.out.println("got " + instance + " " + new String(each.getBody(), StandardCharsets.UTF_8) + " "
            + each.getTopic() + " " + each.getQueueId() + " " + each.getQueueOffset() + " "
            + each.getReconsumeTimes() + " " + each.getKeys() + " " + each.getBornHostString());
    }
}
