package cloudformation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// customResourcePath is where functions put their answers.
	customResourcePath = "/custom-resource/"
	// defaultServiceTimeout and maxServiceTimeout are CloudFormation's own:
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-resource-cloudformation-customresource.html
	defaultServiceTimeout = time.Hour
	maxServiceTimeout     = time.Hour
	// maxCustomAnswer is the limit of a custom resource's answer, 4096 bytes in CloudFormation.
	maxCustomAnswer = 4096
)

// customResource makes the resources of Custom::... types by an event to their function and its
// answer.
type customResource struct{ service *Service }

// customEvent is the function's payload. See
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-requests.html.
type customEvent struct {
	RequestType           string
	ServiceToken          string
	ResponseURL           string
	StackID               string `json:"StackId"`
	RequestID             string `json:"RequestId"`
	LogicalResourceID     string `json:"LogicalResourceId"`
	PhysicalResourceID    string `json:"PhysicalResourceId,omitempty"`
	ResourceType          string
	ResourceProperties    map[string]any
	OldResourceProperties map[string]any `json:",omitempty"`
}

// customAnswer is the answer that the function puts to the ResponseURL.
type customAnswer struct {
	Status             string
	Reason             string
	PhysicalResourceID string `json:"PhysicalResourceId"`
	StackID            string `json:"StackId"`
	RequestID          string `json:"RequestId"`
	LogicalResourceID  string `json:"LogicalResourceId"`
	NoEcho             bool
	Data               map[string]any
}

// Create asks the function to create the resource.
func (c *customResource) Create(ctx context.Context, r Request) (Result, error) {
	return c.ask(ctx, "Create", r)
}

// Update asks the function to update the resource.
func (c *customResource) Update(ctx context.Context, r Request) (Result, error) {
	return c.ask(ctx, "Update", r)
}

// Delete asks the function to delete the resource.
func (c *customResource) Delete(ctx context.Context, r Request) error {
	_, err := c.ask(ctx, "Delete", r)
	return err
}

func (c *customResource) ask(ctx context.Context, requestType string, r Request) (Result, error) {
	if c.service.config.Functions == nil || c.service.config.BaseURL == nil {
		return Result{}, errors.New("custom resources need functions, and this CloudFormation was made without them")
	}
	token, ok := r.Properties["ServiceToken"].(string)
	if !ok || token == "" {
		return Result{}, errors.New(
			"property ServiceToken is missing: it takes the ARN of the function that answers for the resource")
	}
	timeout, err := serviceTimeout(r.Properties)
	if err != nil {
		return Result{}, err
	}
	requestID, answers := c.service.expectAnswer()
	defer c.service.forgetAnswer(requestID)
	event := customEvent{
		RequestType: requestType, ServiceToken: token,
		ResponseURL: c.service.config.BaseURL() + customResourcePath + requestID, StackID: r.StackID,
		RequestID: requestID, LogicalResourceID: r.LogicalID, ResourceType: r.Type,
		ResourceProperties: texts(r.Properties).(map[string]any),
	}
	if requestType != "Create" {
		event.PhysicalResourceID = r.PhysicalID
	}
	if requestType == "Update" {
		event.OldResourceProperties = texts(r.OldProperties).(map[string]any)
	}
	payload, err := json.Marshal(event)
	if err != nil {
		return Result{}, fmt.Errorf("writing the event for %s: %w", token, err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	failed := make(chan error, 1)
	// This does not use ctx: a function may still work after its answer.
	c.service.work.Go(func() {
		if err := c.service.config.Functions.InvokeAsync(c.service.ctx, token, payload); err != nil {
			failed <- err
		}
	})
	select {
	case answer := <-answers:
		return result(answer, r)
	case err := <-failed:
		// The answer may have arrived just before the function ended.
		select {
		case answer := <-answers:
			return result(answer, r)
		default:
		}
		return Result{}, fmt.Errorf("function %s failed without an answer to its ResponseURL: %w", token, err)
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			return Result{}, fmt.Errorf(
				"CloudFormation did not receive a response from your custom resource within %s: check the log of function %s "+
					"for request id [%s]", timeout, token, requestID)
		}
		return Result{}, context.Cause(ctx)
	}
}

// result reads a function's answer. A failed creation also returns its physical ID, so that the
// rollback deletes it.
func result(answer customAnswer, r Request) (Result, error) {
	made := Result{PhysicalID: answer.PhysicalResourceID, Attributes: answer.Data}
	if answer.Status != "SUCCESS" {
		reason := answer.Reason
		if reason == "" {
			reason = "the function gave no reason"
		}
		return made, fmt.Errorf("received response status [%s] from custom resource. Message returned: %s", answer.Status,
			reason)
	}
	if made.PhysicalID == "" {
		return Result{}, fmt.Errorf("invalid response from custom resource %s: PhysicalResourceId is missing", r.LogicalID)
	}
	return made, nil
}

func serviceTimeout(properties map[string]any) (time.Duration, error) {
	given, ok := properties["ServiceTimeout"]
	if !ok {
		return defaultServiceTimeout, nil
	}
	text, _ := scalarText(given)
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 1 || time.Duration(seconds)*time.Second > maxServiceTimeout {
		return 0, fmt.Errorf("property ServiceTimeout takes 1 to 3600 seconds, not %s", describe(given))
	}
	return time.Duration(seconds) * time.Second, nil
}

// texts writes scalars as strings, as CloudFormation does with the properties of custom resources.
func texts(value any) any {
	switch v := value.(type) {
	case map[string]any:
		result := make(map[string]any, len(v))
		for name, inner := range v {
			result[name] = texts(inner)
		}
		return result
	case []any:
		result := make([]any, len(v))
		for i, inner := range v {
			result[i] = texts(inner)
		}
		return result
	default:
		if text, ok := scalarText(value); ok {
			return text
		}
		return value
	}
}

// expectAnswer opens a place for the answer to a new request.
func (s *Service) expectAnswer() (requestID string, answers chan customAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	requestID = strings.ToLower(suffix("request", s.config.AccountID, strconv.Itoa(s.serial))) + "-" +
		strconv.Itoa(s.serial)
	answers = make(chan customAnswer, 1)
	s.answers[requestID] = answers
	return requestID, answers
}

func (s *Service) forgetAnswer(requestID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.answers, requestID)
}

// customResourceHandler takes the answers of functions, which PUT them as to a presigned S3 URL.
func (s *Service) customResourceHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut {
			http.Error(w, "a custom resource's answer comes by PUT", http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, maxCustomAnswer+1))
		if err != nil {
			http.Error(w, "the answer could not be read: "+err.Error(), http.StatusBadRequest)
			return
		}
		requestID := strings.TrimPrefix(r.URL.Path, customResourcePath)
		var answer customAnswer
		if len(body) > maxCustomAnswer {
			answer = customAnswer{
				Status: "FAILED", Reason: fmt.Sprintf("the response object is longer than %d bytes", maxCustomAnswer),
			}
		} else if err := json.Unmarshal(body, &answer); err != nil {
			answer = customAnswer{Status: "FAILED", Reason: "the response object is no JSON: " + err.Error()}
		}
		s.mu.Lock()
		answers, ok := s.answers[requestID]
		s.mu.Unlock()
		if !ok {
			http.Error(w, "no custom resource waits for an answer to request "+requestID, http.StatusNotFound)
			return
		}
		select {
		case answers <- answer:
		default: // the first answer counts
		}
		w.WriteHeader(http.StatusOK)
	})
}
