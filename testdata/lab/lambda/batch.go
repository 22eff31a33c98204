package lambda

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/whittle-dev/whittle/testdata/lab/sqs"
)

// eventRecord is one message of the event,
// https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
type eventRecord struct {
	MessageID      string            `json:"messageId"`
	ReceiptHandle  string            `json:"receiptHandle"`
	Body           string            `json:"body"`
	Attributes     map[string]string `json:"attributes"`
	MD5OfBody      string            `json:"md5OfBody"`
	EventSource    string            `json:"eventSource"`
	EventSourceARN string            `json:"eventSourceARN"`
	AWSRegion      string            `json:"awsRegion"`
}

func (m *mapping) event(settings mappingSettings, batch []sqs.Message) ([]byte, error) {
	records := make([]eventRecord, len(batch))
	for i, message := range batch {
		records[i] = eventRecord{
			MessageID: message.ID, ReceiptHandle: message.ReceiptHandle, Body: message.Body,
			Attributes: message.SystemAttributes(), MD5OfBody: message.BodyMD5(), EventSource: "aws:sqs",
			EventSourceARN: settings.queueARN, AWSRegion: m.service.options.Region,
		}
	}
	return json.Marshal(map[string]any{"Records": records})
}

// itemFailures returns the failed messages of a batch. No answer, null, {} and an empty list mean
// none. Anything outside the documented form, and an empty or unknown identifier, means all,
// returned as an error.
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
func itemFailures(payload []byte, batch []sqs.Message) (map[string]bool, error) {
	failed := map[string]bool{}
	if len(strings.TrimSpace(string(payload))) == 0 {
		return failed, nil
	}
	var answer *struct {
		BatchItemFailures []struct {
			ItemIdentifier *string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(payload, &answer); err != nil {
		return nil, fmt.Errorf("the function's answer has no batchItemFailures of the documented form: %w", err)
	}
	if answer == nil {
		return failed, nil
	}
	known := map[string]bool{}
	for _, message := range batch {
		known[message.ID] = true
	}
	for _, failure := range answer.BatchItemFailures {
		switch {
		case failure.ItemIdentifier == nil || *failure.ItemIdentifier == "":
			return nil, errors.New("batchItemFailures has an empty itemIdentifier")
		case !known[*failure.ItemIdentifier]:
			return nil, fmt.Errorf("batchItemFailures names %q, which is not in the batch", *failure.ItemIdentifier)
		}
		failed[*failure.ItemIdentifier] = true
	}
	return failed, nil
}
