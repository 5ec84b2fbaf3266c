import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.PushConsumer;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageView;

/** A plain consumer with RocketMQ's Java client of the 5.x line, which prints each record that it has handled.
 *  Arguments: ENDPOINTS TOPIC GROUP [push|simple]. */
public class RocketMQGrpcConsumer {
    private static final long SLOW_MS = Long.parseLong(System.getenv().getOrDefault("EQUIPOISE_CALLBACK_MS", "0"));
    private static final int FAILS = Integer.parseInt(System.getenv().getOrDefault("EQUIPOISE_FAIL_FIRST", "0"));
    private static final Duration INVISIBLE = Duration.ofSeconds(10);
    private static final AtomicReference<String> FIRST = new AtomicReference<>();
    private static final AtomicInteger FAILED = new AtomicInteger();
    private static volatile boolean running = true;

    public static void main(String[] args) throws Exception {
        ClientServiceProvider provider = ClientServiceProvider.loadService();
        ClientConfiguration to = ClientConfiguration.newBuilder().setEndpoints(args[0]).enableSsl(false).build();
        Map<String, FilterExpression> topics = Map.of(args[1], FilterExpression.SUB_ALL);
        if (args.length > 3 && args[3].equals("simple")) {
            SimpleConsumer consumer = provider.newSimpleConsumerBuilder().setClientConfiguration(to)
                .setConsumerGroup(args[2]).setSubscriptionExpressions(topics)
                .setAwaitDuration(Duration.ofSeconds(5)).build();
            Thread loop = Thread.currentThread();
            Runtime.getRuntime().addShutdownHook(new Thread(() -> end(loop)));
            receive(consumer);
            consumer.close();
            return;
        }
        PushConsumer consumer = provider.newPushConsumerBuilder().setClientConfiguration(to)
            .setConsumerGroup(args[2]).setSubscriptionExpressions(topics)
            .setMessageListener(each -> handle(each) ? ConsumeResult.SUCCESS : ConsumeResult.FAILURE).build();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> close(consumer)));
        Thread.currentThread().join();
    }

    private static void end(Thread loop) {
        running = false;
        try {
            loop.join(8000);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static void close(PushConsumer consumer) {
        try {
            consumer.close();
        } catch (Exception error) {
            System.err.println("not closed: " + error);
        }
    }

    private static void receive(SimpleConsumer consumer) {
        while (running) {
            try {
                for (MessageView each : consumer.receive(16, INVISIBLE)) {
                    if (SLOW_MS > 0) {
                        consumer.changeInvisibleDuration(each, INVISIBLE);
                    }
                    if (running && handle(each)) {
                        consumer.ack(each);
                    }
                }
            } catch (Exception error) {
                System.err.println("not received: " + error);
            }
        }
    }

    private static boolean handle(MessageView record) {
        String body = StandardCharsets.UTF_8.decode(record.getBody().duplicate()).toString();
        FIRST.compareAndSet(null, body);
        if (body.equals(FIRST.get()) && FAILED.getAndIncrement() < FAILS) {
            return false;
        }
        try {
            Thread.sleep(SLOW_MS);
        } catch (InterruptedException ended) {
            return false;
        }
        System.out.println(body + " " + record.getDeliveryAttempt());
        return true;
    }
}
