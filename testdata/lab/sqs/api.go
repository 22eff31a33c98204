package sqs

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Register makes the server answer SQS's JSON protocol.
func (s *Service) Register(server *wire.Server) {
	server.Register("sqs", wire.Actions{
		"CreateQueue":                  s.createQueue,
		"GetQueueUrl":                  s.getQueueURL,
		"GetQueueAttributes":           s.getQueueAttributes,
		"SetQueueAttributes":           s.setQueueAttributes,
		"DeleteQueue":                  s.deleteQueue,
		"SendMessage":                  s.sendMessage,
		"SendMessageBatch":             s.sendMessageBatch,
		"ReceiveMessage":               s.receiveMessage,
		"DeleteMessage":                s.deleteMessage,
		"ChangeMessageVisibilityBatch": s.changeMessageVisibilityBatch,
	})
}

type empty struct{}

func (s *Service) createQueue(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		QueueName  string
		Attributes map[string]string
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	url, err := s.CreateQueue(in.QueueName, in.Attributes)
	if err != nil {
		return nil, asAnswerOr(err, "InvalidParameterValue")
	}
	return wire.JSON(map[string]string{"QueueUrl": url})
}

func (s *Service) getQueueURL(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ QueueName string }
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(in.QueueName)
	if err != nil {
		return nil, asAnswer(err)
	}
	return wire.JSON(map[string]string{"QueueUrl": s.url(q.name)})
}

func (s *Service) getQueueAttributes(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		QueueURL       string `json:"QueueUrl"`
		AttributeNames []string
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	all, err := s.Attributes(in.QueueURL)
	if err != nil {
		return nil, asAnswer(err)
	}
	return wire.JSON(map[string]any{"Attributes": chosen(all, in.AttributeNames)})
}

func (s *Service) setQueueAttributes(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		QueueURL   string `json:"QueueUrl"`
		Attributes map[string]string
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	err := s.SetAttributes(in.QueueURL, in.Attributes)
	if err != nil {
		return nil, asAnswerOr(err, "InvalidAttributeValue")
	}
	return wire.JSON(empty{})
}

func (s *Service) deleteQueue(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		QueueURL string `json:"QueueUrl"`
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	if err := s.DeleteQueue(in.QueueURL); err != nil {
		return nil, asAnswer(err)
	}
	return wire.JSON(empty{})
}

// outgoing is one message of SendMessage or SendMessageBatch.
type outgoing struct {
	ID                string `json:"Id"`
	MessageBody       string
	DelaySeconds      *int
	MessageAttributes map[string]any
	MessageGroupID    string `json:"MessageGroupId"`
}

type sent struct {
	ID               string `json:"Id,omitempty"`
	MessageID        string `json:"MessageId"`
	MD5OfMessageBody string
}

func (s *Service) send(c *wire.Call, queue string, o outgoing) (sent, error) {
	if o.MessageGroupID != "" || len(o.MessageAttributes) > 0 {
		return sent{}, answerError("InvalidParameterValue",
			"the local queues hold neither MessageGroupId nor MessageAttributes: leave them out")
	}
	message := Message{
		Body: o.MessageBody, SenderID: senderID(c.Caller), TraceHeader: c.HTTP.Header.Get("X-Amzn-Trace-Id"),
	}
	var delay *time.Duration
	if o.DelaySeconds != nil {
		given := time.Duration(*o.DelaySeconds) * time.Second
		delay = &given
	}
	m, err := s.Send(queue, message, delay)
	if err != nil {
		return sent{}, err
	}
	return sent{o.ID, m.ID, m.BodyMD5()}, nil
}

// refuse returns an error for a caller whom the queue's policy denies to send.
func (s *Service) refuse(c *wire.Call, queue string) error {
	principal := c.Caller.RoleARN
	if principal == "" {
		principal = c.Caller.ARN
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(queue)
	if err != nil {
		return asAnswer(err)
	}
	if q.attributes.policy.denies(sender{principalARN: principal}, "sqs:SendMessage", q.arn) {
		return wire.Errorf("AccessDeniedException", http.StatusBadRequest, "User: %s is not authorized to perform: "+
			"sqs:sendmessage on resource: %s with an explicit deny in a resource-based policy", c.Caller.ARN, q.arn)
	}
	return nil
}

// senderID is the role's session as AWS writes it behind the unique id, or the account for the
// operator.
func senderID(caller wire.Caller) string {
	if caller.RoleARN == "" {
		return caller.AccountID
	}
	role := caller.RoleARN[strings.LastIndexByte(caller.RoleARN, '/')+1:]
	return role + ":" + caller.SessionName
}

func (s *Service) sendMessage(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		QueueURL string `json:"QueueUrl"`
		outgoing
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	if err := s.refuse(c, in.QueueURL); err != nil {
		return nil, err
	}
	in.ID = ""
	out, err := s.send(c, in.QueueURL, in.outgoing)
	if err != nil {
		return nil, asAnswer(err)
	}
	return wire.JSON(out)
}

// received is a message in ReceiveMessage's answer.
type received struct {
	MessageID     string `json:"MessageId"`
	ReceiptHandle string
	MD5OfBody     string
	Body          string
	Attributes    map[string]string `json:",omitempty"`
	// MessageAttributes come without their MD5, which AWS's SDK for Go does not check.
	MessageAttributes map[string]messageAttribute `json:",omitempty"`
}

type messageAttribute struct{ DataType, StringValue string }

func (s *Service) receiveMessage(ctx context.Context, c *wire.Call) (*wire.Response, error) {
	var in receiveRequest
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	options, err := s.receiveOptions(in)
	if err != nil {
		return nil, err
	}
	messages, err := s.Receive(ctx, in.QueueURL, options)
	if err != nil {
		return nil, asAnswer(err)
	}
	if len(messages) == 0 {
		return wire.JSON(empty{})
	}
	out := make([]received, len(messages))
	for i, m := range messages {
		out[i] = received{MessageID: m.ID, ReceiptHandle: m.ReceiptHandle, MD5OfBody: m.BodyMD5(), Body: m.Body}
		out[i].Attributes = chosen(m.SystemAttributes(), slices.Concat(in.AttributeNames, in.MessageSystemAttributeNames))
		for name, value := range chosen(m.Attributes, in.MessageAttributeNames) {
			if out[i].MessageAttributes == nil {
				out[i].MessageAttributes = map[string]messageAttribute{}
			}
			out[i].MessageAttributes[name] = messageAttribute{"String", value}
		}
	}
	return wire.JSON(map[string]any{"Messages": out})
}

type receiveRequest struct {
	QueueURL                    string `json:"QueueUrl"`
	AttributeNames              []string
	MessageSystemAttributeNames []string
	MessageAttributeNames       []string
	MaxNumberOfMessages         *int
	VisibilityTimeout           *int
	WaitTimeSeconds             *int
}

// receiveOptions checks the options of a request and adds the queue's own.
func (s *Service) receiveOptions(in receiveRequest) (ReceiveOptions, error) {
	options := ReceiveOptions{Maximum: 1}
	if in.MaxNumberOfMessages != nil {
		options.Maximum = *in.MaxNumberOfMessages
	}
	if options.Maximum < 1 || options.Maximum > maximumBatch {
		return options, answerError("InvalidParameterValue",
			"Value %d for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.",
			options.Maximum)
	}
	if in.VisibilityTimeout != nil {
		visibility := time.Duration(*in.VisibilityTimeout) * time.Second
		if visibility < 0 || visibility > maximumVisibility {
			return options, answerError("InvalidParameterValue",
				"Value %d for parameter VisibilityTimeout is invalid. Reason: Must be between 0 and 43200, if provided.",
				*in.VisibilityTimeout)
		}
		options.Visibility = &visibility
	}
	if in.WaitTimeSeconds != nil {
		options.Wait = time.Duration(*in.WaitTimeSeconds) * time.Second
		if options.Wait < 0 || options.Wait > maximumWait {
			return options, answerError("InvalidParameterValue",
				"Value %d for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.",
				*in.WaitTimeSeconds)
		}
	} else {
		s.mu.Lock()
		q, err := s.find(in.QueueURL)
		if err == nil {
			options.Wait = q.attributes.wait
		}
		s.mu.Unlock()
		if err != nil {
			return options, asAnswer(err)
		}
	}
	return options, nil
}

// chosen keeps the entries that a list of names asks for, which may be All.
func chosen(all map[string]string, names []string) map[string]string {
	kept := map[string]string{}
	for key, value := range all {
		if slices.Contains(names, "All") || slices.Contains(names, key) {
			kept[key] = value
		}
	}
	return kept
}

func (s *Service) deleteMessage(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		QueueURL      string `json:"QueueUrl"`
		ReceiptHandle string
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	if err := s.Delete(in.QueueURL, in.ReceiptHandle); err != nil {
		return nil, asAnswer(err)
	}
	return &wire.Response{Status: http.StatusOK}, nil
}
