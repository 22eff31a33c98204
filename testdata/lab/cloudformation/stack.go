package cloudformation

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"maps"
	"strings"
	"time"
)

// Statuses of stacks and resources, as CloudFormation names them.
const (
	reviewInProgress                = "REVIEW_IN_PROGRESS" // a change set would create the stack
	createInProgress                = "CREATE_IN_PROGRESS"
	createComplete                  = "CREATE_COMPLETE"
	createFailed                    = "CREATE_FAILED"
	rollbackInProgress              = "ROLLBACK_IN_PROGRESS"
	rollbackComplete                = "ROLLBACK_COMPLETE"
	rollbackFailed                  = "ROLLBACK_FAILED"
	updateInProgress                = "UPDATE_IN_PROGRESS"
	updateComplete                  = "UPDATE_COMPLETE"
	updateFailed                    = "UPDATE_FAILED"
	updateCleanupInProgress         = "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"
	updateRollbackInProgress        = "UPDATE_ROLLBACK_IN_PROGRESS"
	updateRollbackCleanupInProgress = "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS"
	updateRollbackComplete          = "UPDATE_ROLLBACK_COMPLETE"
	updateRollbackFailed            = "UPDATE_ROLLBACK_FAILED"
	deleteInProgress                = "DELETE_IN_PROGRESS"
	deleteComplete                  = "DELETE_COMPLETE"
	deleteFailed                    = "DELETE_FAILED"
	deleteSkipped                   = "DELETE_SKIPPED"
)

// stack is one stack, guarded by its service's lock.
type stack struct {
	name, id    string
	body        string
	template    *template
	tags        map[string]string
	protected   bool // against deletion
	description string

	status, reason            string
	created, updated, deleted time.Time
	resources                 map[string]*resource
	outputs                   []outputValue
	events                    []event       // oldest first
	token                     string        // client request token of the operation under way
	settled                   chan struct{} // closed while no operation is under way
	generations               int           // of generated names
	changeSets                map[string]*changeSet
}

// resource is one resource of a stack.
type resource struct {
	logicalID, physicalID, kind string
	properties                  map[string]any
	attributes                  map[string]any
	needs                       []string
	deletionPolicy              string
	status, reason              string
	updated                     time.Time
}

// outputValue is a resolved output.
type outputValue struct{ key, value, description string }

// event is one line of a stack's history.
type event struct {
	id                                          string
	logicalID, physicalID, kind, status, reason string
	properties                                  map[string]any
	token                                       string
	at                                          time.Time
}

// inProgress reports whether an operation is under way.
func (s *stack) inProgress() bool {
	return strings.HasSuffix(s.status, "_IN_PROGRESS")
}

// updatable reports whether an update may begin.
func (s *stack) updatable() bool {
	return s.status == createComplete || s.status == updateComplete || s.status == updateRollbackComplete
}

// begin marks the start of an operation.
func (s *stack) begin(status, reason, token string, at time.Time) {
	s.token = token
	s.settled = make(chan struct{})
	s.setStatus(status, reason, at)
}

// setStatus changes the stack's status and adds an event. A status that ends an operation wakes
// those who wait for it.
func (s *stack) setStatus(status, reason string, at time.Time) {
	s.status, s.reason = status, reason
	s.note(event{logicalID: s.name, physicalID: s.id, kind: "AWS::CloudFormation::Stack", status: status, reason: reason},
		at)
	if s.inProgress() {
		return
	}
	select {
	case <-s.settled:
	default:
		close(s.settled)
	}
}

// setResource changes a resource's status and notes it in the events.
func (s *stack) setResource(r *resource, status, reason string, at time.Time) {
	r.status, r.reason, r.updated = status, reason, at
	s.note(event{
		logicalID: r.logicalID, physicalID: r.physicalID, kind: r.kind, status: status, reason: reason,
		properties: r.properties,
	}, at)
}

func (s *stack) note(e event, at time.Time) {
	// Readers page and compare by time, so two events of a stack never share a millisecond.
	at = at.Truncate(time.Millisecond)
	if n := len(s.events); n > 0 && !at.After(s.events[n-1].at) {
		at = s.events[n-1].at.Add(time.Millisecond)
	}
	e.at, e.token = at, s.token
	e.id = fmt.Sprintf("%s-%s-%06d", e.logicalID, e.status, len(s.events)+1)
	s.events = append(s.events, e)
}

// generatedName is a physical name of CloudFormation's form: stack, logical ID and twelve
// random-looking characters. They depend on the stack's ID, the logical ID and the number of names
// made before, so that a run can be repeated.
func (s *stack) generatedName(logicalID string) string {
	s.generations++
	return s.name + "-" + logicalID + "-" + suffix(s.id, logicalID, fmt.Sprint(s.generations))
}

func suffix(parts ...string) string {
	digest := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return base32.StdEncoding.EncodeToString(digest[:])[:12]
}

// GeneratedName shortens the request's generated name to a service's limit as CloudFormation does:
// stack name and logical id give way, the suffix stays.
func GeneratedName(r Request, limit int) string {
	name := r.GeneratedName
	if len(name) <= limit {
		return name
	}
	cut := strings.LastIndexByte(name, '-')
	if cut < 0 || len(name)-cut >= limit {
		return name[len(name)-limit:]
	}
	end := name[cut:]
	room := limit - len(end) - 1
	id := r.LogicalID
	if len(id) > room/2 {
		id = id[:room/2]
	}
	stack := r.StackName
	if len(stack) > room-len(id) {
		stack = stack[:room-len(id)]
	}
	return stack + "-" + id + end
}

// stackID makes the ARN of a stack's n-th incarnation.
func (s *Service) stackID(name string, n int) string {
	digest := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%s/%d", s.config.AccountID, s.config.Region, name, n))
	return fmt.Sprintf("arn:aws:cloudformation:%s:%s:stack/%s/%x-%x-%x-%x-%x", s.config.Region, s.config.AccountID, name,
		digest[0:4], digest[4:6], digest[6:8], digest[8:10], digest[10:16])
}

// resourceGraph returns the needs of the resources that the stack has.
func (s *stack) resourceGraph() graph {
	g := graph{}
	for id, r := range s.resources {
		g[id] = r.needs
	}
	return g
}

// request builds the argument of ResourceType methods.
func (s *stack) request(r *resource, properties, old map[string]any) Request {
	return Request{
		StackName: s.name, StackID: s.id, LogicalID: r.logicalID, PhysicalID: r.physicalID, Type: r.kind,
		Properties: properties, OldProperties: old, Tags: maps.Clone(s.tags),
	}
}
