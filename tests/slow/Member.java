import java.util.Arrays;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.remoting.protocol.heartbeat.MessageModel;

/** A member of a group until its standard input ends: NAMESRV GROUP INSTANCE STRATEGY_CLASS MODEL TOPIC... */
public class Member {
    public static void main(String[] arguments) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(arguments[1]);
        consumer.setNamesrvAddr(arguments[0]);
        consumer.setInstanceName(arguments[2]);
        consumer.setAllocateMessageQueueStrategy(
            (AllocateMessageQueueStrategy) Class.forName(arguments[3]).getDeclaredConstructor().newInstance());
        consumer.setMessageModel(MessageModel.valueOf(arguments[4]));
        for (String topic : Arrays.asList(arguments).subList(5, arguments.length)) {
            consumer.subscribe(topic, "*");
        }
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) ->
            ConsumeConcurrentlyStatus.CONSUME_SUCCESS);
        consumer.start();
        System.out.println("started");
        while (System.in.read() >= 0) {
        }
        consumer.shutdown();
    }
}
