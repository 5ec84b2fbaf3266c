// A plain consumer with franz-go: it commits what it has handled, also before partitions are taken away.
//
// go run franz_go_consumer.go BOOTSTRAP TOPIC GROUP
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// In a rebalance somebody else may own it already.
func commit(client *kgo.Client) error {
	err := client.CommitUncommittedOffsets(context.Background())
	for _, gone := range []error{kerr.RebalanceInProgress, kerr.IllegalGeneration, kerr.UnknownMemberID} {
		if errors.Is(err, gone) {
			fmt.Fprintln(os.Stderr, "not committed:", err)
			return nil
		}
	}
	return err
}

func main() {
	slow, _ := strconv.Atoi(os.Getenv("EQUIPOISE_CALLBACK_MS"))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(os.Args[1], ",")...),
		kgo.ConsumeTopics(os.Args[2]),
		kgo.ConsumerGroup(os.Args[3]),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsRevoked(func(_ context.Context, client *kgo.Client, _ map[string][]int32) {
			time.Sleep(time.Duration(slow) * time.Millisecond)
			commit(client)
		}),
	}
	if instance := os.Getenv("EQUIPOISE_INSTANCE_ID"); instance != "" {
		options = append(options, kgo.InstanceID(instance))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for ctx.Err() == nil {
		polled, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		fetches := client.PollFetches(polled)
		cancel()
		fetches.EachError(func(_ string, _ int32, err error) {
			if polled.Err() == nil {
				fmt.Fprintln(os.Stderr, "polled:", err)
			}
		})
		fetches.EachRecord(func(record *kgo.Record) {
			fmt.Println(record.Topic, record.Partition, record.Offset)
		})
		if !fetches.Empty() {
			if err := commit(client); err != nil {
				fmt.Fprintln(os.Stderr, "not committed:", err)
			}
		}
		client.AllowRebalance()
	}
	client.CloseAllowingRebalance()
}
