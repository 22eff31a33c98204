package sqs

import (
	"cmp"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Message is a message as a receiver sees it.
type Message struct {
	ID            string
	ReceiptHandle string
	Body          string
	// SenderID is the sender's unique ID or the last part of its ARN.
	SenderID string
	// TraceHeader is the AWSTraceHeader system attribute: the X-Ray header of the sender's request,
	// empty without one.
	TraceHeader string
	// Sent is when the queue took the message, or the queue it was first sent to where this is a
	// dead-letter queue.
	Sent          time.Time
	FirstReceived time.Time
	// ReceiveCount counts deliveries, this one included.
	ReceiveCount int
	// DeadLetterSource is the ARN of the queue that gave the message up; empty elsewhere.
	DeadLetterSource string
	// Attributes are what services of AWS write beside the body; all are strings.
	Attributes map[string]string
}

// BodyMD5 is the hexadecimal MD5 of the body, which AWS's SDKs check.
func (m Message) BodyMD5() string { return bodyMD5(m.Body) }

// SystemAttributes are the message's system attributes by their AWS names; times in milliseconds
// since 1970.
func (m Message) SystemAttributes() map[string]string {
	attributes := map[string]string{
		"SenderId":                         m.SenderID,
		"SentTimestamp":                    fmt.Sprint(m.Sent.UnixMilli()),
		"ApproximateReceiveCount":          fmt.Sprint(m.ReceiveCount),
		"ApproximateFirstReceiveTimestamp": fmt.Sprint(m.FirstReceived.UnixMilli()),
	}
	if m.TraceHeader != "" {
		attributes["AWSTraceHeader"] = m.TraceHeader
	}
	if m.DeadLetterSource != "" {
		attributes["DeadLetterQueueSourceArn"] = m.DeadLetterSource
	}
	return attributes
}

// stored is a message in a queue. It is either ready (place < 0) or hidden until visibleAt (place
// is its index in the heap).
type stored struct {
	Message
	visibleAt time.Time
	inFlight  bool
	gone      bool
	copied    bool
	twice     bool // as the service's Delivery wants it
	place     int
}

// checkContents returns the reason why SQS would refuse the message's text, or "".
func (m *Message) checkContents() string {
	if !utf8.ValidString(m.Body) {
		return "the message body is not UTF-8"
	}
	for _, r := range m.Body {
		if r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return fmt.Sprintf("the message body contains the character U+%04X, which SQS does not carry", r)
		}
	}
	return ""
}

func bodyMD5(body string) string {
	sum := md5.Sum([]byte(body))
	return hex.EncodeToString(sum[:])
}

// newReceipt is a handle for one delivery of one message. Each delivery gets another one, so that
// old handles are recognised.
func newReceipt(queueName, messageID string) string {
	return base64.StdEncoding.EncodeToString([]byte("receipt " + wire.NewID() + " " + messageID + " " + queueName))
}

// receiptIsOf reports whether the handle was made by the queue, whatever became of its message.
func receiptIsOf(queueName, handle string) bool {
	raw, err := base64.StdEncoding.DecodeString(handle)
	if err != nil {
		return false
	}
	parts := strings.Split(string(raw), " ")
	return len(parts) == 4 && parts[0] == "receipt" && parts[3] == queueName
}

// hiddenHeap orders messages by the time at which they become visible.
type hiddenHeap []*stored

func (h hiddenHeap) Len() int { return len(h) }
func (h hiddenHeap) Less(i, j int) bool {
	return cmp.Compare(h[i].visibleAt.UnixNano(), h[j].visibleAt.UnixNano()) < 0
}
func (h hiddenHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}
func (h *hiddenHeap) Push(x any) {
	m := x.(*stored)
	m.place = len(*h)
	*h = append(*h, m)
}
func (h *hiddenHeap) Pop() any {
	last := len(*h) - 1
	m := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	m.place = -1
	return m
}
