package sqs

import (
	"cmp"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/whittle-dev/whittle/infra/local/wire"
)

// Attribute is one typed message attribute. DataType begins with String, Number or Binary.
type Attribute struct {
	DataType    string `json:"DataType"`
	StringValue string `json:"StringValue,omitempty"`
	BinaryValue []byte `json:"BinaryValue,omitempty"`
}

// Message is a message as a receiver sees it.
type Message struct {
	ID            string
	ReceiptHandle string
	Body          string
	Attributes    map[string]Attribute
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

// size counts as AWS does: the body, and name, type and value of each attribute.
func (m *Message) size() int {
	size := len(m.Body)
	for name, attribute := range m.Attributes {
		size += len(name) + len(attribute.DataType) + len(attribute.StringValue) + len(attribute.BinaryValue)
	}
	return size
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
	if len(m.Attributes) > 10 {
		return "a message has at most 10 attributes"
	}
	for name, attribute := range m.Attributes {
		if fault := attribute.check(name); fault != "" {
			return fault
		}
	}
	return ""
}

// check describes a fault of the attribute; empty for none.
func (a Attribute) check(name string) string {
	kind, _, _ := strings.Cut(a.DataType, ".")
	if kind != "String" && kind != "Number" && kind != "Binary" {
		return fmt.Sprintf("message attribute %q has the type %q; it must begin with String, Number or Binary", name,
			a.DataType)
	}
	if a.StringValue == "" && len(a.BinaryValue) == 0 {
		return fmt.Sprintf("message attribute %q has no value", name)
	}
	return ""
}

func bodyMD5(body string) string {
	sum := md5.Sum([]byte(body))
	return hex.EncodeToString(sum[:])
}

// attributesMD5 follows the documented encoding: names in order, each part preceded by its length,
// strings marked 1, binaries 2.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html
func attributesMD5(attributes map[string]Attribute) string {
	if len(attributes) == 0 {
		return ""
	}
	sum := md5.New()
	part := func(value []byte) {
		var length [4]byte
		binary.BigEndian.PutUint32(length[:], uint32(len(value)))
		sum.Write(length[:])
		sum.Write(value)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		attribute := attributes[name]
		part([]byte(name))
		part([]byte(attribute.DataType))
		if strings.HasPrefix(attribute.DataType, "Binary") {
			sum.Write([]byte{2})
			part(attribute.BinaryValue)
		} else {
			sum.Write([]byte{1})
			part([]byte(attribute.StringValue))
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
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
