package world

import (
	"fmt"
	"strings"

	"github.com/whittle-dev/whittle/infra/local/identity"
	"github.com/whittle-dev/whittle/infra/local/kubernetes"
)

// Rights are what a function's role allows in AWS, and what of it was ever needed.
func (w *World) Rights(function string) ([]identity.Right, error) {
	configuration, err := w.Lambda.Configuration(w.queue(function))
	if err != nil {
		return nil, err
	}
	_, role, found := strings.Cut(configuration.Role, ":role/")
	if !found {
		return nil, fmt.Errorf("function %s has the role %q, which is no ARN of one", function, configuration.Role)
	}
	return w.identity.Rights(role), nil
}

// Requests are those that the functions have made in the cluster, where Options has them noted.
func (w *World) Requests() ([]kubernetes.Request, error) { return w.ControlPlane.AuditedRequests() }
