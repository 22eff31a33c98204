package install

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"sort"
	"strings"

	"github.com/aws/aws-lambda-go/cfn"
)

// maxAnswer is the largest answer, in bytes of JSON, that CloudFormation accepts.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-responses.html
const maxAnswer = 4096

// installedID is the physical id of a completed installation.
func installedID(cluster string) string { return "whittle-install-" + cluster }

// physicalIDAfter returns the id of the resource after a creation or an update. CloudFormation
// deletes a resource whose creation failed. The id then differs, so that this deletion needs no
// cluster. A failed update keeps its id, because CloudFormation deletes a resource that loses its.
func physicalIDAfter(event cfn.Event, cluster string, err error) string {
	switch {
	case err == nil:
		return installedID(cluster)
	case event.RequestType == cfn.RequestCreate || event.PhysicalResourceID == "":
		return installedID(cluster) + "-failed"
	}
	return event.PhysicalResourceID
}

// bucketHost matches the addresses of S3, with the bucket in the host's name or in the path. Other
// services of AWS have hosts of the same domains, and so have their users' machines.
var bucketHost = regexp.MustCompile(
	`^([a-z0-9][a-z0-9.-]*\.)?s3([.-](dualstack\.)?[a-z]{2}(-[a-z]+)+-[0-9]+)?\.` +
		`(amazonaws\.(com|com\.cn|eu)|c2s\.ic\.gov|sc2s\.sgov\.gov|cloud\.adc-e\.uk|csp\.hci\.ic\.gov)$`)

// checkAnswerURL returns an error for a URL that CloudFormation does not give: its answers go to a
// bucket by HTTPS. The endpoint is that of another AWS, such as the local one, or empty.
func checkAnswerURL(given, endpoint string) error {
	asked, err := url.Parse(given)
	if err != nil {
		return errors.New("ResponseURL is not a URL: nothing is done")
	}
	if other, err := url.Parse(endpoint); endpoint != "" && err == nil && asked.Scheme == other.Scheme &&
		asked.Host == other.Host {
		return nil
	}
	if asked.Scheme != "https" || asked.User != nil || !bucketHost.MatchString(strings.TrimSuffix(asked.Host, ":443")) {
		return fmt.Errorf("ResponseURL %s://%s is not an address of S3 by HTTPS, where CloudFormation waits for answers: "+
			"nothing is done", asked.Scheme, asked.Host)
	}
	return nil
}

// Handle does what CloudFormation asks for, and sends it the outcome. The error is that of sending. A
// run by hand has nobody to answer, so that it returns the outcome. An event that wants its answer
// elsewhere than CloudFormation is not from there.
func (h *Handler) Handle(ctx context.Context, event cfn.Event) (any, error) {
	if event.ResponseURL == "" {
		_, data, err := h.handle(ctx, event)
		return data, err
	}
	if err := checkAnswerURL(event.ResponseURL, h.endpoint); err != nil {
		slog.ErrorContext(ctx, "the request failed", "request", event.RequestType, "id", event.PhysicalResourceID,
			"error", err)
		return nil, err
	}
	// This answer counts if the handler panics. Without one CloudFormation waits for an hour.
	response := cfn.NewResponse(&event)
	response.Status, response.Reason = cfn.StatusFailed, "the function panicked: see its log"
	response.PhysicalResourceID = event.PhysicalResourceID
	if event.RequestType == cfn.RequestCreate {
		response.PhysicalResourceID = event.RequestID // of no installation, so that nothing is removed
	}
	panicked := true
	defer func() {
		if panicked {
			_ = h.send(ctx, event.ResponseURL, response) // Lambda logs the panic
		}
	}()
	id, data, err := h.handle(ctx, event)
	panicked = false
	response.Status, response.Reason, response.PhysicalResourceID, response.Data = cfn.StatusSuccess, "", id, data
	if err != nil {
		slog.ErrorContext(ctx, "the request failed", "request", event.RequestType, "id", id, "error", err)
		response.Status, response.Reason = cfn.StatusFailed, err.Error()
		response.Reason = fitting(*response)
	}
	return nil, h.send(ctx, event.ResponseURL, response)
}

// send puts the response where CloudFormation reads it. The signature of the URL covers an empty
// content type.
func (h *Handler) send(ctx context.Context, url string, response *cfn.Response) error {
	body, err := json.Marshal(response)
	if err != nil {
		return fmt.Errorf("answering CloudFormation: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("answering CloudFormation: %w", err)
	}
	client := http.Client{Transport: h.transport}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("answering CloudFormation: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("answering CloudFormation: its bucket says %s", answer.Status)
	}
	return nil
}

// fitting returns the response's reason, with as much of its beginning as CloudFormation accepts.
func fitting(response cfn.Response) string {
	whole := response.Reason
	without := func(bytes int) string {
		return strings.ToValidUTF8(whole[:len(whole)-bytes], "") + "... (the function's log has the whole)"
	}
	fits := func() bool {
		body, err := json.Marshal(response)
		return err == nil && len(body) <= maxAnswer
	}
	if fits() {
		return whole
	}
	return without(sort.Search(len(whole), func(bytes int) bool {
		response.Reason = without(bytes)
		return fits()
	}))
}
