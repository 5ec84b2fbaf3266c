import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;

/**
 * Members of a POP group on the released client of the 5.x line: ENDPOINT TOPIC GROUP, then one of
 * send COUNT (tags a and b in turn; ends), simple TAG SECONDS (receives and acknowledges in turns of both tags; ends),
 * hang (a push consumer whose listener never returns), take (one that consumes).
 * Printed: "ready", and a line for each message: tag of the member, body.
 */
public class PopMembers {
    static final ClientServiceProvider PROVIDER = ClientServiceProvider.loadService();
    static final Duration INVISIBLE = Duration.ofSeconds(10);

    static String body(MessageView message) {
        return StandardCharsets.UTF_8.decode(message.getBody()).toString();
    }

    static SimpleConsumer simple(ClientConfiguration to, String group, String topic, String tag) throws Exception {
        return PROVIDER.newSimpleConsumerBuilder().setClientConfiguration(to).setConsumerGroup(group)
            .setSubscriptionExpressions(Map.of(topic, new FilterExpression(tag))).setAwaitDuration(Duration.ofSeconds(5)).build();
    }

    public static void main(String[] args) throws Exception {
        Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> {
            failure.printStackTrace();
            System.exit(1);
        });
        ClientConfiguration to = ClientConfiguration.newBuilder().setEndpoints(args[0]).build();
        String topic = args[1], group = args[2];
        switch (args[3]) {
            case "send" -> {
                Producer producer = PROVIDER.newProducerBuilder().setClientConfiguration(to).setTopics(topic).build();
                for (int i = 0; i < Integer.parseInt(args[4]); i++) {
                    producer.send(PROVIDER.newMessageBuilder().setTopic(topic).setTag(i % 2 == 0 ? "a" : "b")
                        .setBody(String.valueOf(i).getBytes(StandardCharsets.UTF_8)).build());
                }
                System.exit(0);
            }
            case "simple" -> {
                List<String> tags = List.of("a", "b");
                List<SimpleConsumer> members = List.of(simple(to, group, topic, "a"), simple(to, group, topic, "b"));
                System.out.println("ready");
                long end = System.currentTimeMillis() + Long.parseLong(args[4]) * 1000;
                for (int turn = 0; System.currentTimeMillis() < end; turn = 1 - turn) {
                    for (MessageView message : members.get(turn).receive(8, INVISIBLE)) {
                        System.out.println(tags.get(turn) + " " + body(message));
                        members.get(turn).ack(message);
                    }
                }
                System.exit(0);
            }
            default -> {
                PROVIDER.newPushConsumerBuilder().setClientConfiguration(to).setConsumerGroup(group)
                    .setSubscriptionExpressions(Map.of(topic, FilterExpression.SUB_ALL)).setMessageListener(message -> {
                        System.out.println(args[3] + " " + body(message));
                        if (args[3].equals("hang")) {
                            try {
                                Thread.sleep(Long.MAX_VALUE);
                            } catch (InterruptedException ended) {
                                return ConsumeResult.FAILURE;
                            }
                        }
                        return ConsumeResult.SUCCESS;
                    }).build();
                System.out.println("ready");
                Thread.sleep(Long.MAX_VALUE);
            }
        }
    }
}
