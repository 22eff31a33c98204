package crash

import (
	"encoding/json"
	"fmt"
	"path"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
)

// letter is a message that a function has sent. It comes when its delay has passed by the functions'
// clock, because the queues' delays pass by the machine's.
type letter struct {
	due     time.Time
	message lambdaevents.SQSMessage
}

// post keeps the messages of a call of SendMessageBatch.
func (t *trial) post(body []byte) {
	var sent struct {
		QueueURL string `json:"QueueUrl"`
		Entries  []struct {
			MessageBody  string
			DelaySeconds int
		}
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		t.fault("messages that cannot be read: %v", err)
		return
	}
	name := path.Base(sent.QueueURL)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, entry := range sent.Entries {
		id := fmt.Sprintf("sent-%s-%d", name, len(t.letters[name]))
		t.letters[name] = append(t.letters[name], letter{
			due:     t.world.now().Add(time.Duration(entry.DelaySeconds) * time.Second),
			message: lambdaevents.SQSMessage{MessageId: id, ReceiptHandle: id, Body: entry.MessageBody},
		})
	}
}

// due takes the messages to a function whose delay has passed.
func (t *trial) due(name string) []lambdaevents.SQSMessage {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	var come []lambdaevents.SQSMessage
	for i := range t.letters[name] {
		if one := &t.letters[name][i]; !one.due.IsZero() && !t.world.now().Before(one.due) {
			come = append(come, one.message)
			one.due = time.Time{} // taken
		}
	}
	return come
}
