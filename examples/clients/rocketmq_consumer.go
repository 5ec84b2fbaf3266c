// A plain push consumer with rocketmq-client-go v2, which prints the body of each record that it has handled.
// Arguments: NAMESRV TOPIC GROUP [concurrently|orderly].
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

func check(err error) {
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

func main() {
	rlog.SetLogLevel("error")
	slow, _ := strconv.Atoi(os.Getenv("EQUIPOISE_CALLBACK_MS"))
	var fail int32
	if os.Getenv("EQUIPOISE_FAIL_FIRST") == "1" {
		fail = 1
	}
	made, err := rocketmq.NewPushConsumer(
		consumer.WithNameServer([]string{os.Args[1]}),
		consumer.WithGroupName(os.Args[3]),
		consumer.WithInstance(fmt.Sprint(os.Getpid())),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumerOrder(len(os.Args) > 4 && os.Args[4] == "orderly"),
	)
	check(err)
	everything := consumer.MessageSelector{Type: consumer.TAG, Expression: "*"}
	handle := func(_ context.Context, records ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		if atomic.SwapInt32(&fail, 0) == 1 {
			return consumer.ConsumeRetryLater, nil
		}
		for _, each := range records {
			time.Sleep(time.Duration(slow) * time.Millisecond)
			fmt.Println(string(each.Body))
		}
		return consumer.ConsumeSuccess, nil
	}
	check(made.Subscribe(os.Args[2], everything, handle))
	check(made.Start())
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	<-ended
	check(made.Shutdown())
}
