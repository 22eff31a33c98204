package sqs

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/infra/local/wire"
)

// Register makes the server answer SQS's JSON protocol.
func (s *Service) Register(server *wire.Server) {
	server.Register("sqs", wire.Actions{
		"CreateQueue":                  s.createQueue,
		"GetQueueUrl":                  s.getQueueURL,
		"GetQueueAttributes":           s.getQueueAttributes,
		"SetQueueAttributes":           s.setQueueAttributes,
		"ListQueues":                   s.listQueues,
		"ListQueueTags":                s.listQueueTags,
		"DeleteQueue":                  s.deleteQueue,
		"PurgeQueue":                   s.purgeQueue,
		"SendMessage":                  s.sendMessage,
		"SendMessageBatch":             s.sendMessageBatch,
		"ReceiveMessage":               s.receiveMessage,
		"DeleteMessage":                s.deleteMessage,
		"DeleteMessageBatch":           s.deleteMessageBatch,
		"ChangeMessageVisibility":      s.changeMessageVisibility,
		"ChangeMessageVisibilityBatch": s.changeMessageVisibilityBatch,
	})
}

type empty struct{}

func (s *Service) createQueue(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		QueueName  string
		Attributes map[string]string
		Tags       map[string]string `json:"tags"`
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	url, err := s.CreateQueue(in.QueueName, in.Attributes, in.Tags)
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
	if !slices.Contains(in.AttributeNames, "All") {
		asked := map[string]string{}
		for _, name := range in.AttributeNames {
			if value, ok := all[name]; ok {
				asked[name] = value
			}
		}
		all = asked
	}
	if len(all) == 0 {
		return wire.JSON(empty{})
	}
	return wire.JSON(map[string]any{"Attributes": all})
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

func (s *Service) listQueues(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ QueueNamePrefix string }
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var urls []string
	for name := range s.queues {
		if strings.HasPrefix(name, in.QueueNamePrefix) {
			urls = append(urls, s.url(name))
		}
	}
	slices.Sort(urls)
	if len(urls) == 0 {
		return wire.JSON(empty{})
	}
	return wire.JSON(map[string]any{"QueueUrls": urls})
}

func (s *Service) listQueueTags(_ context.Context, c *wire.Call) (*wire.Response, error) {
	return s.onQueue(c, func(queue string) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		q, err := s.find(queue)
		if err != nil || len(q.tags) == 0 {
			return empty{}, err
		}
		return map[string]any{"Tags": q.tags}, nil
	})
}

func (s *Service) deleteQueue(_ context.Context, c *wire.Call) (*wire.Response, error) {
	return s.onQueue(c, func(queue string) (any, error) { return empty{}, s.DeleteQueue(queue) })
}

func (s *Service) purgeQueue(_ context.Context, c *wire.Call) (*wire.Response, error) {
	return s.onQueue(c, func(queue string) (any, error) { return empty{}, s.purge(queue) })
}

func (s *Service) onQueue(c *wire.Call, do func(queue string) (any, error)) (*wire.Response, error) {
	var in struct {
		QueueURL string `json:"QueueUrl"`
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	out, err := do(in.QueueURL)
	if err != nil {
		return nil, asAnswer(err)
	}
	return wire.JSON(out)
}

// outgoing is one message of SendMessage or SendMessageBatch.
type outgoing struct {
	ID                string `json:"Id"`
	MessageBody       string
	DelaySeconds      *int
	MessageAttributes map[string]Attribute
	MessageGroupID    string `json:"MessageGroupId"`
}

type sent struct {
	ID                     string `json:"Id,omitempty"`
	MessageID              string `json:"MessageId"`
	MD5OfMessageBody       string
	MD5OfMessageAttributes string `json:",omitempty"`
}

func (s *Service) send(c *wire.Call, queue string, o outgoing) (sent, error) {
	if o.MessageGroupID != "" {
		return sent{}, answerError("InvalidParameterValue",
			"MessageGroupId is %q; the local queues are standard queues without fair-queue groups, leave it out",
			o.MessageGroupID)
	}
	message := Message{
		Body: o.MessageBody, Attributes: o.MessageAttributes,
		SenderID: senderID(c.Caller), TraceHeader: c.HTTP.Header.Get("X-Amzn-Trace-Id"),
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
	return sent{o.ID, m.ID, m.BodyMD5(), attributesMD5(m.Attributes)}, nil
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
	in.ID = ""
	out, err := s.send(c, in.QueueURL, in.outgoing)
	if err != nil {
		return nil, asAnswer(err)
	}
	return wire.JSON(out)
}

// received is a message in ReceiveMessage's answer.
type received struct {
	MessageID              string `json:"MessageId"`
	ReceiptHandle          string
	MD5OfBody              string
	Body                   string
	Attributes             map[string]string    `json:",omitempty"`
	MessageAttributes      map[string]Attribute `json:",omitempty"`
	MD5OfMessageAttributes string               `json:",omitempty"`
}

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
		out[i].MessageAttributes = chosen(m.Attributes, in.MessageAttributeNames)
		out[i].MD5OfMessageAttributes = attributesMD5(out[i].MessageAttributes)
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

// chosen keeps the entries that a list of names asks for: All, .*, names, and prefixes written as
// prefix.*
func chosen[V any](all map[string]V, names []string) map[string]V {
	kept := map[string]V{}
	for key, value := range all {
		for _, name := range names {
			prefix, isPrefix := strings.CutSuffix(name, ".*")
			if name == "All" || name == key || isPrefix && strings.HasPrefix(key, prefix) {
				kept[key] = value
			}
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

func (s *Service) changeMessageVisibility(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		QueueURL          string `json:"QueueUrl"`
		ReceiptHandle     string
		VisibilityTimeout int
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	if err := s.changeVisibility(in.QueueURL, in.ReceiptHandle,
		time.Duration(in.VisibilityTimeout)*time.Second); err != nil {
		return nil, asAnswer(err)
	}
	return &wire.Response{Status: http.StatusOK}, nil
}
