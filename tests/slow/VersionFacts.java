import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.consumer.store.OffsetStore;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;
import org.apache.rocketmq.remoting.protocol.RequestCode;
import org.apache.rocketmq.remoting.protocol.header.PopMessageRequestHeader;
import org.apache.rocketmq.remoting.protocol.heartbeat.MessageModel;

/**
 * What clients and a broker of one release do where releases differ. Arguments: name server, the broker's address, a
 * folder for local offsets. The topic "orders" has eight queues at "broker-a", "single" one. Prints a fact a line: FACT, name,
 * then value.
 */
public final class VersionFacts {
    private static final long LISTENS_MS = 2_000;
    private static String nameServer;

    public static void main(String[] arguments) throws Exception {
        nameServer = arguments[0];
        System.setProperty("rocketmq.client.localOffsetStoreDir", arguments[2]);
        DefaultMQProducer producer = new DefaultMQProducer("facts");
        producer.setNamesrvAddr(nameServer);
        producer.start();
        for (int queue = 0; queue < 8; queue++) {
            producer.send(new Message("orders", new byte[1]), new MessageQueue("orders", "broker-a", queue));
        }
        producer.send(new Message("single", new byte[1]));
        System.out.println("FACT popped " + popped(producer, arguments[1]));
        System.out.println("FACT entries " + entriesOfLocalOffsets(Path.of(arguments[2])));
        System.out.println("FACT reset_ms " + resetOfAnOrderlyConsumer());
        producer.shutdown();
        System.exit(0);
    }

    /** The queues of one pop over all of them, in the order of the answer. */
    private static String popped(DefaultMQProducer producer, String broker) throws Exception {
        PopMessageRequestHeader asked = new PopMessageRequestHeader();
        asked.setConsumerGroup("pops");
        asked.setTopic("orders");
        asked.setQueueId(-1);
        asked.setMaxMsgNums(32);
        asked.setInvisibleTime(600_000);
        asked.setInitMode(0);
        asked.setBornTime(System.currentTimeMillis());
        MQClientInstance client = producer.getDefaultMQProducerImpl().getMqClientFactory();
        RemotingCommand request = RemotingCommand.createRequestCommand(RequestCode.POP_MESSAGE, asked);
        RemotingCommand answer = client.getMQClientAPIImpl().getRemotingClient().invokeSync(broker, request, 10_000);
        if (answer.getCode() != 0) {
            return answer.getCode() + " " + answer.getRemark();
        }
        return Stream.of(answer.getExtFields().get("startOffsetInfo").split(";")).map(each -> each.split(" ")[1]).collect(Collectors.joining(","));
    }

    /** Entries that begin on a line of their own in a broadcasting client's file of offsets. */
    private static long entriesOfLocalOffsets(Path folder) throws Exception {
        DefaultMQPushConsumer consumer = consumer("broadcast", "orders");
        consumer.setMessageModel(MessageModel.BROADCASTING);
        CountDownLatch handled = new CountDownLatch(8);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            messages.forEach(each -> handled.countDown());
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        handled.await();
        // A message is handled a moment before its offset is kept.
        OffsetStore store = consumer.getDefaultMQPushConsumerImpl().getOffsetStore();
        while (store.cloneOffsetTable("orders").values().stream().filter(offset -> offset > 0).count() < 8) {
            Thread.sleep(50);
        }
        consumer.shutdown();
        try (Stream<Path> files = Files.walk(folder)) {
            Path file = files.filter(each -> each.endsWith("offsets.json")).findFirst().orElseThrow();
            return Files.readAllLines(file).stream().filter(each -> each.equals("\t\t{")).count();
        }
    }

    /** Milliseconds of a reset during which the one listener takes two seconds. */
    private static long resetOfAnOrderlyConsumer() throws Exception {
        DefaultMQPushConsumer consumer = consumer("orderly", "single");
        CountDownLatch listens = new CountDownLatch(1);
        consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            listens.countDown();
            try {
                Thread.sleep(LISTENS_MS);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            }
            return ConsumeOrderlyStatus.SUCCESS;
        });
        consumer.start();
        listens.await();
        Map<MessageQueue, Long> offsets = Collections.singletonMap(new MessageQueue("single", "broker-a", 0), 0L);
        long began = System.nanoTime();
        consumer.getDefaultMQPushConsumerImpl().getmQClientFactory().resetOffset("single", "orderly", offsets);
        long took = (System.nanoTime() - began) / 1_000_000;
        consumer.shutdown();  // so that the broker has its offset
        return took;
    }

    private static DefaultMQPushConsumer consumer(String group, String topic) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName(group);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        return consumer;
    }
}
