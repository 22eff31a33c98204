package sqs

import (
	"context"
	"errors"
	"regexp"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// failed is an entry of a batch that did not succeed, beside others that did.
type failed struct {
	ID          string `json:"Id"`
	SenderFault bool
	Code        string
	Message     string
}

type batchAnswer[T any] struct {
	Successful []T      `json:",omitempty"`
	Failed     []failed `json:",omitempty"`
}

type identified struct {
	ID string `json:"Id"`
}

var validEntryID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// checkEntries refuses a batch as a whole for its ids or its number of entries.
func checkEntries[E any](entries []E, id func(E) string) error {
	if len(entries) == 0 {
		return answerError("EmptyBatchRequest", "There should be at least one entry in the request.")
	}
	if len(entries) > maximumBatch {
		return answerError("TooManyEntriesInBatchRequest", "Maximum number of entries per request are 10. You have sent %d.",
			len(entries))
	}
	seen := map[string]bool{}
	for _, entry := range entries {
		if !validEntryID.MatchString(id(entry)) {
			return answerError("InvalidBatchEntryId",
				"The batch entry id %q can only contain letters, digits, hyphens and underscores, at most 80.", id(entry))
		}
		if seen[id(entry)] {
			return answerError("BatchEntryIdsNotDistinct", "Id %s repeated.", id(entry))
		}
		seen[id(entry)] = true
	}
	return nil
}

// runBatch processes each entry and sorts the outcomes. An error that concerns all entries (a queue
// that does not exist) fails the whole batch.
func runBatch[E, T any](entries []E, id func(E) string, do func(E) (T, error)) (*wire.Response, error) {
	if err := checkEntries(entries, id); err != nil {
		return nil, err
	}
	var out batchAnswer[T]
	for _, entry := range entries {
		done, err := do(entry)
		var content *contentError
		var refused *wire.Error
		switch {
		case err == nil:
			out.Successful = append(out.Successful, done)
		case errors.As(err, &content):
			out.Failed = append(out.Failed, failed{id(entry), true, content.code, content.message})
		case errors.As(err, &refused):
			out.Failed = append(out.Failed, failed{id(entry), true, refused.QueryCode, refused.Message})
		default:
			return nil, asAnswer(err)
		}
	}
	return wire.JSON(out)
}

func (s *Service) sendMessageBatch(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		QueueURL string `json:"QueueUrl"`
		Entries  []outgoing
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	size := 0
	for _, entry := range in.Entries {
		size += len(entry.MessageBody)
	}
	if size > maximumMessageBytes {
		return nil, answerError("BatchRequestTooLong",
			"Batch requests cannot be longer than %d bytes. You have sent %d bytes.", maximumMessageBytes, size)
	}
	if err := s.refuse(c, in.QueueURL); err != nil {
		return nil, err
	}
	return runBatch(in.Entries, func(o outgoing) string {
		return o.ID
	}, func(o outgoing) (sent, error) { return s.send(c, in.QueueURL, o) })
}

// changed is one entry of ChangeMessageVisibilityBatch.
type changed struct {
	ID                string `json:"Id"`
	ReceiptHandle     string
	VisibilityTimeout int
}

func (s *Service) changeMessageVisibilityBatch(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		QueueURL string `json:"QueueUrl"`
		Entries  []changed
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	return runBatch(in.Entries, func(e changed) string { return e.ID }, func(e changed) (identified, error) {
		visibility := time.Duration(e.VisibilityTimeout) * time.Second
		return identified{e.ID}, s.changeVisibility(in.QueueURL, e.ReceiptHandle, visibility)
	})
}
