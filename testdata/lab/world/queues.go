package world

import (
	"strconv"

	"github.com/whittle-dev/whittle/testdata/lab/sqs"
)

// queue is the name of one of the cluster's queues in AWS.
func (w *World) queue(name string) string { return "whittle-" + w.options.Cluster + "-" + name }

// Send puts a message into one of the cluster's queues.
func (w *World) Send(queue, body string) error {
	_, err := w.queues.Send(w.queue(queue), sqs.Message{Body: body}, nil)
	return err
}

// Waiting counts the messages of one of the cluster's queues, visible or not.
func (w *World) Waiting(queue string) (int, error) { return w.waiting(w.queue(queue)) }

// waiting is Waiting by the queue's name in AWS.
func (w *World) waiting(name string) (int, error) {
	attributes, err := w.queues.Attributes(name)
	if err != nil {
		return 0, err
	}
	count := 0
	for _, name := range []string{
		"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed",
	} {
		number, err := strconv.Atoi(attributes[name])
		if err != nil {
			return 0, err
		}
		count += number
	}
	return count, nil
}
