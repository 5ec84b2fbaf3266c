// A plain share consumer with franz-go (from 1.22 on): it says of each record what became of it.
//
// Arguments: BOOTSTRAP TOPIC GROUP.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func number(name string) int {
	value, _ := strconv.Atoi(os.Getenv(name))
	return value
}

func main() {
	slow := time.Duration(number("EQUIPOISE_CALLBACK_MS")) * time.Millisecond
	fails, rejects := number("EQUIPOISE_FAIL_FIRST"), number("EQUIPOISE_REJECT_FIRST") == 1
	told, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(os.Args[1], ",")...),
		kgo.ConsumeTopics(os.Args[2]),
		kgo.ShareGroup(os.Args[3]),
	)
	if err != nil {
		panic(err)
	}
	first, failed := "", 0
	for told.Err() == nil {
		client.PollFetches(told).EachRecord(func(record *kgo.Record) {
			place := fmt.Sprintf("%s %d %d", record.Topic, record.Partition, record.Offset)
			if first == "" {
				first = place
			}
			switch {
			case told.Err() != nil:
				record.Ack(kgo.AckRelease)
			case place == first && rejects:
				record.Ack(kgo.AckReject)
			case place == first && failed < fails:
				failed++
				record.Ack(kgo.AckRelease)
			default:
				time.Sleep(slow)
				fmt.Println(place, record.DeliveryCount())
				record.Ack(kgo.AckAccept)
			}
		})
	}
	client.Close()
}
