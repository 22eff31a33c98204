package kubernetes

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"
)

// Request is one that the API server was asked, as RBAC sees it.
type Request struct {
	// At is when the API server received it.
	At time.Time
	// Groups are the user's.
	Groups []string
	Verb   string
	// APIGroup is empty for the core group, Namespace and Name for a request that names none.
	// Resource may end in /SUBRESOURCE.
	APIGroup, Resource, Namespace, Name string
	// Status is HTTP's.
	Status int
}

// writeAuditPolicy writes a policy that records the requests of the groups, without their content.
// https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/
func writeAuditPolicy(path string, groups []string) error {
	var rules []map[string]any
	rules = append(rules, map[string]any{
		"level": "Metadata", "userGroups": groups, "omitStages": []string{"RequestReceived"},
	}, map[string]any{"level": "None"})
	content, err := json.Marshal(map[string]any{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules})
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// AuditedRequests are the requests of the AuditGroups so far, in their order. It is nil where none
// were named.
func (c *ControlPlane) AuditedRequests() ([]Request, error) {
	if c.auditLog == "" {
		return nil, nil
	}
	file, err := os.Open(c.auditLog)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	defer func() { _ = file.Close() }()
	var requests []Request
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Stage, Verb    string
			User           struct{ Groups []string }
			ObjectRef      struct{ Resource, Subresource, Namespace, Name, APIGroup string }
			ResponseStatus struct{ Code int }
			Received       time.Time `json:"requestReceivedTimestamp"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("reading the audit log: line %q: %w", lines.Text(), err)
		}
		if line.Verb == "watch" && line.Stage == "ResponseComplete" && line.ResponseStatus.Code == http.StatusOK {
			continue // its beginning has a line of its own
		}
		about := line.ObjectRef
		if about.Subresource != "" {
			about.Resource += "/" + about.Subresource
		}
		requests = append(requests, Request{
			At: line.Received, Groups: line.User.Groups, Verb: line.Verb, APIGroup: about.APIGroup, Resource: about.Resource,
			Namespace: about.Namespace, Name: about.Name,
			Status: line.ResponseStatus.Code,
		})
	}
	return requests, lines.Err()
}
