import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;

/** A plain push consumer with RocketMQ's own client, which prints the body of each record that it has handled.
 *  Arguments: NAMESRV TOPIC GROUP [concurrently|orderly]. */
public class RocketMQConsumer {
    private static final long SLOW_MS = Long.parseLong(System.getenv().getOrDefault("EQUIPOISE_CALLBACK_MS", "0"));
    private static final AtomicBoolean FAIL =
        new AtomicBoolean(System.getenv().getOrDefault("EQUIPOISE_FAIL_FIRST", "0").equals("1"));

    public static void main(String[] args) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(args[2]);
        consumer.setNamesrvAddr(args[0]);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(args[1], "*");
        if (args.length > 3 && args[3].equals("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (records, context) ->
                handle(records) ? ConsumeOrderlyStatus.SUCCESS : ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT);
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (records, context) ->
                handle(records) ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER);
        }
        consumer.start();
        Runtime.getRuntime().addShutdownHook(new Thread(consumer::shutdown));
        Thread.currentThread().join();
    }

    private static boolean handle(List<MessageExt> records) {
        if (FAIL.getAndSet(false)) {
            return false;
        }
        for (MessageExt each : records) {
            try {
                Thread.sleep(SLOW_MS);
            } catch (InterruptedException ended) {
                return false;
            }
            System.out.println(new String(each.getBody(), StandardCharsets.UTF_8));
        }
        return true;
    }
}
