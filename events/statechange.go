package events

import (
	"slices"
	"strings"
)

const stateChangeType = "EC2 Instance State-change Notification"

// State is the state of an instance.
type State string

// The states of an instance.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-lifecycle.html
const (
	StatePending      State = "pending"
	StateRunning      State = "running"
	StateStopping     State = "stopping"
	StateStopped      State = "stopped"
	StateShuttingDown State = "shutting-down"
	StateTerminated   State = "terminated"
)

// Leaving reports whether an instance in the state is shutting down, stopping, stopped or
// terminated.
func (s State) Leaving() bool {
	switch s {
	case StateStopping, StateStopped, StateShuttingDown, StateTerminated:
		return true
	}
	return false
}

func states() []State {
	return []State{StatePending, StateRunning, StateStopping, StateStopped, StateShuttingDown, StateTerminated}
}

// StateChange reports the new state of an instance.
type StateChange struct {
	// InstanceID is the id of the instance.
	InstanceID string `json:"instance-id"`
	// State is the current state. It is always one of the six.
	State State `json:"state"`
}

// DetailType returns the event's detail-type.
func (d *StateChange) DetailType() string { return stateChangeType }

// Instances returns the instance.
func (d *StateChange) Instances() []string { return []string{d.InstanceID} }

func (d *StateChange) source() string { return SourceEC2 }

func (d *StateChange) resources(account, region string) []string {
	return []string{instanceARN(account, region, d.InstanceID)}
}

func readStateChange(e envelope) (Detail, error) {
	var d StateChange
	if err := readDetail(e, &d); err != nil {
		return nil, err
	}
	if _, err := instanceID("detail.instance-id", d.InstanceID); err != nil {
		return nil, err
	}
	if !slices.Contains(states(), d.State) {
		words := make([]string, 0, len(states()))
		for _, state := range states() {
			words = append(words, string(state))
		}
		want := "one of " + strings.Join(words, ", ")
		if d.State == "" {
			return nil, missing("detail.state", want)
		}
		return nil, wrong("detail.state", d.State, want)
	}
	return &d, nil
}
