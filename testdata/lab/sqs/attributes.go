package sqs

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limits of standard queues,
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
const (
	maximumMessageBytes = 1 << 20
	maximumBatch        = 10
	maximumDelay        = 900 * time.Second
	maximumVisibility   = 12 * time.Hour
	maximumWait         = 20 * time.Second
	minimumRetention    = time.Minute
	maximumRetention    = 14 * 24 * time.Hour
	defaultRetention    = 4 * 24 * time.Hour
	defaultVisibility   = 30 * time.Second
)

// attributes are a queue's settings.
type attributes struct {
	delay, visibility, wait, retention time.Duration
	redrive                            *redrivePolicy
	policy                             *policy
	policyText                         string
	managedEncryption                  bool
}

type redrivePolicy struct {
	DeadLetterTargetARN string
	MaxReceiveCount     int
}

func defaultAttributes() attributes {
	return attributes{
		visibility: defaultVisibility, retention: defaultRetention, managedEncryption: true,
	}
}

// set changes one attribute by its AWS name. The error names the attribute and its valid values.
func (a *attributes) set(name, value string) error {
	switch name {
	case "DelaySeconds":
		return setSeconds(&a.delay, name, value, 0, maximumDelay)
	case "VisibilityTimeout":
		return setSeconds(&a.visibility, name, value, 0, maximumVisibility)
	case "ReceiveMessageWaitTimeSeconds":
		return setSeconds(&a.wait, name, value, 0, maximumWait)
	case "MessageRetentionPeriod":
		return setSeconds(&a.retention, name, value, minimumRetention, maximumRetention)
	case "RedrivePolicy":
		return a.setRedrive(value)
	case "Policy":
		return a.setPolicy(name, value)
	case "SqsManagedSseEnabled":
		enabled, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%s is %q; it must be true or false", name, value)
		}
		a.managedEncryption = enabled
	default:
		return fmt.Errorf("unknown attribute %s", name)
	}
	return nil
}

func (a *attributes) setPolicy(name, value string) error {
	parsed, err := parsePolicy(value)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	a.policy, a.policyText = parsed, value
	return nil
}

func setSeconds(to *time.Duration, name, value string, lowest, highest time.Duration) error {
	seconds, err := strconv.Atoi(value)
	if d := time.Duration(seconds) * time.Second; err != nil || d < lowest || d > highest {
		return fmt.Errorf("%s is %q; it must be a number of seconds from %.0f to %.0f", name, value, lowest.Seconds(),
			highest.Seconds())
	}
	*to = time.Duration(seconds) * time.Second
	return nil
}

func (a *attributes) setRedrive(value string) error {
	if value == "" {
		a.redrive = nil
		return nil
	}
	var given struct {
		DeadLetterTargetARN string          `json:"deadLetterTargetArn"`
		MaxReceiveCount     json.RawMessage `json:"maxReceiveCount"`
	}
	if err := json.Unmarshal([]byte(value), &given); err != nil {
		return fmt.Errorf("RedrivePolicy is not a JSON object: %w", err)
	}
	count, err := strconv.Atoi(strings.Trim(string(given.MaxReceiveCount), `"`))
	if err != nil || count < 1 || count > 1000 {
		return fmt.Errorf("RedrivePolicy: maxReceiveCount is %s; it must be from 1 to 1000", given.MaxReceiveCount)
	}
	if !strings.HasPrefix(given.DeadLetterTargetARN, "arn:aws:sqs:") {
		return fmt.Errorf("RedrivePolicy: deadLetterTargetArn %q is not the ARN of a queue", given.DeadLetterTargetARN)
	}
	a.redrive = &redrivePolicy{given.DeadLetterTargetARN, count}
	return nil
}

// describe returns all attributes of a queue by their AWS names.
func (q *queue) describe(now time.Time) map[string]string {
	visible, inFlight, delayed := q.counts(now)
	seconds := func(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }
	all := map[string]string{
		"QueueArn":                              q.arn,
		"ApproximateNumberOfMessages":           strconv.Itoa(visible),
		"ApproximateNumberOfMessagesNotVisible": strconv.Itoa(inFlight),
		"ApproximateNumberOfMessagesDelayed":    strconv.Itoa(delayed),
		"CreatedTimestamp":                      strconv.FormatInt(q.created.Unix(), 10),
		"LastModifiedTimestamp":                 strconv.FormatInt(q.modified.Unix(), 10),
		"VisibilityTimeout":                     seconds(q.attributes.visibility),
		"DelaySeconds":                          seconds(q.attributes.delay),
		"ReceiveMessageWaitTimeSeconds":         seconds(q.attributes.wait),
		"MessageRetentionPeriod":                seconds(q.attributes.retention),
		"SqsManagedSseEnabled":                  strconv.FormatBool(q.attributes.managedEncryption),
	}
	if redrive := q.attributes.redrive; redrive != nil {
		text, _ := json.Marshal(map[string]any{
			"deadLetterTargetArn": redrive.DeadLetterTargetARN, "maxReceiveCount": redrive.MaxReceiveCount,
		})
		all["RedrivePolicy"] = string(text)
	}
	if q.attributes.policyText != "" {
		all["Policy"] = q.attributes.policyText
	}
	return all
}
