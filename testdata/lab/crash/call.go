package crash

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// responsePath is where CloudFormation waits for the answer of a custom resource.
const responsePath = "/cloudformation-response"

// sendMessages is the call by which functions send messages.
const sendMessages = "sqs:SendMessageBatch"

// request is a function's call to AWS or to Kubernetes.
type request struct {
	name string // such as ec2:CreateFleet or PATCH nodeclaims/status
	kind string // of its arguments, such as InstanceId or status.conditions
}

// awsRequest names a call to AWS. Its kind is the names of its parameters.
func awsRequest(sent *http.Request, body []byte) request {
	if sent.URL.Path == responsePath {
		return request{name: "cloudformation:Response"}
	}
	service := ""
	if signature, err := wire.ParseSignature(sent); err == nil && signature != nil {
		service = signature.Service
	}
	if target := sent.Header.Get("X-Amz-Target"); target != "" {
		return request{service + ":" + target[strings.LastIndexByte(target, '.')+1:], jsonKind(body)}
	}
	if form, err := url.ParseQuery(string(body)); err == nil && form.Get("Action") != "" {
		action := service + ":" + form.Get("Action")
		if form.Get("DryRun") == "true" {
			action += " (dry run)"
		}
		return request{action, formKind(form)}
	}
	return request{name: service + ":" + sent.Method + " " + strings.Split(strings.Trim(sent.URL.Path, "/"), "/")[0]}
}

// formKind lists the parameters of a call of the query protocol, with the names of filters.
func formKind(form url.Values) string {
	var kinds []string
	for key, values := range form {
		head, rest, list := strings.Cut(key, ".")
		switch {
		case slices.Contains([]string{"Action", "Version", "ClientToken", "DryRun", "NextToken", "Marker"}, head):
		case head == "Filter" && strings.HasSuffix(rest, ".Name"):
			kinds = append(kinds, values[0])
		case head != "Filter" || !list:
			kinds = append(kinds, head)
		}
	}
	slices.Sort(kinds)
	return strings.Join(slices.Compact(kinds), ",")
}

// jsonKind names the queue of a call that has one, and lists the parameters of another one.
func jsonKind(body []byte) string {
	var parameters map[string]any
	if json.Unmarshal(body, &parameters) != nil {
		return ""
	}
	if queue, found := parameters["QueueUrl"].(string); found {
		return path.Base(queue)
	}
	delete(parameters, "NextToken")
	return strings.Join(slices.Sorted(maps.Keys(parameters)), ",")
}

// object is the object that a request to Kubernetes names.
type object struct {
	namespace, resource, name, subresource string
}

// objectOf parses a request path: /api/v1 or /apis/GROUP/VERSION, an optional namespace, the
// resource, its name and its subresource.
func objectOf(path string) object {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) > 0 && parts[0] == "api" {
		parts = parts[min(2, len(parts)):]
	} else {
		parts = parts[min(3, len(parts)):]
	}
	var o object
	if len(parts) > 2 && parts[0] == "namespaces" {
		o.namespace, parts = parts[1], parts[2:]
	}
	for i, into := range []*string{&o.resource, &o.name, &o.subresource} {
		if i < len(parts) {
			*into = parts[i]
		}
	}
	return o
}

// kubernetesRequest names a call to Kubernetes, without generated names. The kind of a list is its
// selectors and whether the watch cache may answer it; the kind of a write is its fields.
func kubernetesRequest(sent *http.Request) (request, object, error) {
	o := objectOf(sent.URL.Path)
	verb := sent.Method
	if verb == http.MethodGet && o.name == "" {
		verb = "LIST"
	}
	name := verb + " " + o.resource
	if o.subresource != "" {
		name += "/" + o.subresource
	}
	if o.resource == "configmaps" || o.resource == "leases" || o.resource == "customresourcedefinitions" {
		name += " " + o.name
	}
	if sent.Method == http.MethodGet {
		return request{name, readKind(sent.URL.Query())}, o, nil
	}
	if sent.Method != http.MethodPatch || o.name == "" {
		return request{name: name}, o, nil
	}
	body, err := io.ReadAll(sent.Body)
	if err != nil {
		return request{}, o, err
	}
	sent.Body = io.NopCloser(bytes.NewReader(body))
	return request{name, patchKind(body)}, o, nil
}

// readKind lists what a read selects by, and says whether the watch cache may answer it.
func readKind(query url.Values) string {
	var kinds []string
	if query.Get("resourceVersion") == "0" {
		kinds = append(kinds, "cached")
	}
	// A selector that cannot be parsed selects nothing, as the API server says to the function.
	if selector, err := fields.ParseSelector(query.Get("fieldSelector")); err == nil {
		for _, one := range selector.Requirements() {
			kinds = append(kinds, one.Field)
		}
	}
	if requirements, err := labels.ParseToRequirements(query.Get("labelSelector")); err == nil {
		for _, one := range requirements {
			kinds = append(kinds, string(one.Operator())+" "+one.Key())
		}
	}
	slices.Sort(kinds)
	return strings.Join(kinds, ",")
}

// patchKind lists the two upper levels of a patch's fields.
func patchKind(patch []byte) string {
	var content map[string]any
	if json.Unmarshal(patch, &content) != nil {
		return ""
	}
	var kinds []string
	for key, value := range content {
		inner, ok := value.(map[string]any)
		if !ok {
			continue // apiVersion and kind
		}
		for field := range inner {
			if field != "resourceVersion" && field != "uid" && field != "name" {
				kinds = append(kinds, key+"."+field)
			}
		}
	}
	slices.Sort(kinds)
	return strings.Join(kinds, ",")
}
