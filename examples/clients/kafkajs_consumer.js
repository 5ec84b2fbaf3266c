// A plain consumer with kafkajs: it commits what it has handled.
//     node kafkajs_consumer.js BOOTSTRAP TOPIC GROUP

const { Kafka, logLevel } = require("kafkajs");

async function main(bootstrap, topic, groupId) {
  const kafka = new Kafka({ brokers: bootstrap.split(","), logLevel: logLevel.ERROR });
  const consumer = kafka.consumer({ groupId });
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart) {
      console.error(String(payload.error));
      process.exit(1);
    }
  });
  process.on("SIGTERM", async () => {
    await consumer.disconnect();
    process.exit(0);
  });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch, heartbeat, isRunning, isStale }) => {
      for (const message of batch.messages) {
        if (!isRunning() || isStale()) return;
        console.log(batch.topic, batch.partition, Number(message.offset));
        const offset = String(Number(message.offset) + 1);
        await consumer.commitOffsets([{ topic: batch.topic, partition: batch.partition, offset }]);
        await heartbeat();
      }
    },
  });
}

main(...process.argv.slice(2)).catch((error) => {
  console.error(String(error));
  process.exit(1);
});
