import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.MessageListener;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.TransactionResolution;

/** The released client of the 5.x line: what its consumers are given, a line each: consumer, body, attempt. */
public class GrpcClients {
    static final ClientServiceProvider PROVIDER = ClientServiceProvider.loadService();

    static void told(String consumer, MessageView message) {
        System.out.println(consumer + " " + StandardCharsets.UTF_8.decode(message.getBody()) + " " + message.getDeliveryAttempt());
    }

    static void push(ClientConfiguration to, String group, String topic, MessageListener listener) throws Exception {
        PROVIDER.newPushConsumerBuilder().setClientConfiguration(to).setConsumerGroup(group)
            .setSubscriptionExpressions(Map.of(topic, FilterExpression.SUB_ALL)).setMessageListener(listener).build();
    }

    public static void main(String[] args) throws Exception {
        ClientConfiguration to = ClientConfiguration.newBuilder().setEndpoints(args[0]).build();
        Producer producer = PROVIDER.newProducerBuilder().setClientConfiguration(to).setTopics("orders", "ledger").build();
        push(to, "pushing", "orders", message -> {
            told("push", message);
            return message.getDeliveryAttempt() < 2 ? ConsumeResult.FAILURE : ConsumeResult.SUCCESS;
        });
        push(to, "booking", "ledger", message -> {
            told("fifo", message);
            return ConsumeResult.SUCCESS;
        });
        push(to, "dealing", "deals", message -> {
            told("deal", message);
            return ConsumeResult.SUCCESS;
        });
        Producer deals = PROVIDER.newProducerBuilder().setClientConfiguration(to).setTopics("deals").setTransactionChecker(message -> {
            told("check", message);
            return TransactionResolution.COMMIT;
        }).build();
        deals.send(PROVIDER.newMessageBuilder().setTopic("deals").setBody("open".getBytes(StandardCharsets.UTF_8)).build(),
            deals.beginTransaction());
        for (int i = 0; i < 3; i++) {
            producer.send(PROVIDER.newMessageBuilder().setTopic("orders").setTag("t").setKeys("k")
                .setBody(("m" + i).getBytes(StandardCharsets.UTF_8)).build());
        }
        for (int i = 0; i < 6; i++) {
            producer.send(PROVIDER.newMessageBuilder().setTopic("ledger").setMessageGroup("a" + i % 2)
                .setBody((i % 2 + ":" + i).getBytes(StandardCharsets.UTF_8)).build());
        }
        SimpleConsumer simple = PROVIDER.newSimpleConsumerBuilder().setClientConfiguration(to).setConsumerGroup("simple")
            .setSubscriptionExpressions(Map.of("orders", FilterExpression.SUB_ALL)).setAwaitDuration(Duration.ofSeconds(5)).build();
        for (int i = 0; i < 4; i++) {
            for (MessageView message : simple.receive(8, Duration.ofSeconds(15))) {
                told("simple", message);
                simple.ack(message);
            }
        }
        Thread.sleep(40_000);
        producer.close();
        simple.close();
        System.exit(0);
    }
}
