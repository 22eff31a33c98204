package crash

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/whittle-dev/whittle/infra/local/wire"
)

// responsePath is where CloudFormation waits for the answer of a custom resource.
const responsePath = "/cloudformation-response"

// awsCall names a call to AWS, such as ec2:CreateFleet.
func awsCall(request *http.Request, body []byte) string {
	if request.URL.Path == responsePath {
		return "cloudformation:Response"
	}
	service := ""
	if signature, err := wire.ParseSignature(request); err == nil && signature != nil {
		service = signature.Service
	}
	if target := request.Header.Get("X-Amz-Target"); target != "" {
		return service + ":" + target[strings.LastIndexByte(target, '.')+1:]
	}
	if form, err := url.ParseQuery(string(body)); err == nil && form.Get("Action") != "" {
		action := service + ":" + form.Get("Action")
		if form.Get("DryRun") == "true" {
			action += " (dry run)"
		}
		return action
	}
	return service + ":" + request.Method + " " + strings.Split(strings.Trim(request.URL.Path, "/"), "/")[0]
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

// kubernetesCall names a call to Kubernetes, such as PATCH nodeclaims/status. It leaves out
// generated names.
func kubernetesCall(request *http.Request) string {
	o := objectOf(request.URL.Path)
	verb := request.Method
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
	return name
}
