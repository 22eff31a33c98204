package sqs

import (
	"errors"
	"net/http"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// namespace precedes the error codes of SQS's JSON protocol.
const namespace = "com.amazonaws.sqs#"

// queryCodes are the codes of SQS's former query protocol where they differ from today's. SDKs made
// for either recognize an error by the code of their own time.
var queryCodes = map[string]string{
	"QueueDoesNotExist":            "AWS.SimpleQueueService.NonExistentQueue",
	"QueueNameExists":              "QueueAlreadyExists",
	"TooManyEntriesInBatchRequest": "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
	"EmptyBatchRequest":            "AWS.SimpleQueueService.EmptyBatchRequest",
	"BatchEntryIdsNotDistinct":     "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
	"BatchRequestTooLong":          "AWS.SimpleQueueService.BatchRequestTooLong",
	"InvalidBatchEntryId":          "AWS.SimpleQueueService.InvalidBatchEntryId",
	"MessageNotInflight":           "AWS.SimpleQueueService.MessageNotInflight",
}

func answerError(code, format string, args ...any) *wire.Error {
	e := wire.Errorf(namespace+code, http.StatusBadRequest, format, args...)
	e.QueryCode = code
	if former := queryCodes[code]; former != "" {
		e.QueryCode = former
	}
	return e
}

// asAnswer returns the service's own errors their AWS codes; others are failures of the simulator.
func asAnswer(err error) error { return asAnswerOr(err, "") }

// asAnswerOr gives an error without a code of its own the code given.
func asAnswerOr(err error, code string) error {
	var content *contentError
	switch {
	case errors.Is(err, ErrNoQueue):
		return answerError("QueueDoesNotExist", "The specified queue does not exist. (%v)", err)
	case errors.Is(err, errQueueExists):
		return answerError("QueueNameExists", "%v", err)
	case errors.As(err, &content):
		return answerError(content.code, "%s", content.message)
	case errors.Is(err, errClosed), code == "":
		return err
	default:
		return answerError(code, "%v", err)
	}
}
