import java.nio.charset.StandardCharsets;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.TransactionResolution;

/** A released producer that leaves transactions open: what it is asked, a line each: second, body, attempt, properties.
 * Arguments: endpoint, topic, bodies, how many questions are answered by UNKNOWN before COMMIT. */
public class TransactionClient {
    public static void main(String[] args) throws Exception {
        ClientServiceProvider provider = ClientServiceProvider.loadService();
        AtomicInteger unknown = new AtomicInteger(Integer.parseInt(args[3]));
        Producer producer = provider.newProducerBuilder().setTopics(args[1])
            .setClientConfiguration(ClientConfiguration.newBuilder().setEndpoints(args[0]).build())
            .setTransactionChecker(message -> {
                System.out.println(System.currentTimeMillis() / 1000 + " " + StandardCharsets.UTF_8.decode(message.getBody()) + " "
                    + message.getDeliveryAttempt() + " " + String.join(",", new TreeSet<>(message.getProperties().keySet())));
                return unknown.getAndDecrement() > 0 ? TransactionResolution.UNKNOWN : TransactionResolution.COMMIT;
            }).build();
        for (String body : args[2].split(",")) {
            producer.send(provider.newMessageBuilder().setTopic(args[1]).addProperty("mine", "1")
                .setBody(body.getBytes(StandardCharsets.UTF_8)).build(), producer.beginTransaction());
        }
        System.out.println("open");
        Thread.sleep(300_000);
    }
}
