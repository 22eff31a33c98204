package world

import (
	"fmt"
	"strings"

	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/kubernetes"
)

// Rights returns the rights of a function's role in AWS, and whether each was ever needed.
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

// Requests returns the functions' requests in the cluster, if Options.Audit is set.
func (w *World) Requests() ([]kubernetes.Request, error) { return w.ControlPlane.AuditedRequests() }
