package ec2

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Check is one of EC2's status checks of an instance.
type Check string

// The status checks.
const (
	SystemCheck   Check = "system"
	InstanceCheck Check = "instance"
)

// scheduledEvent is work that EC2 has announced for an instance.
type scheduledEvent struct {
	id, code, description string
	notBefore             time.Time
}

// Impair makes a status check of a running instance fail, as if since an earlier time.
func (s *Service) Impair(id string, check Check, since time.Duration) error {
	if check != SystemCheck && check != InstanceCheck {
		return fmt.Errorf("check %q is none: write %s or %s", check, SystemCheck, InstanceCheck)
	}
	return s.steer(id, func(i *instance) error {
		i.impaired[check] = time.Now().Add(-since)
		return nil
	})
}

// Recover makes the status checks of an instance pass again.
func (s *Service) Recover(id string) error {
	return s.steer(id, func(i *instance) error {
		i.recover()
		return nil
	})
}

func (i *instance) recover() { i.impaired = map[Check]time.Time{} }

// schedule notes work on the instance under the code that EC2 has for Health's, if it has one.
func (i *instance) schedule(healthCode string, start time.Time) {
	for _, known := range []struct{ part, code, description string }{
		{"RETIREMENT", "instance-retirement", "The instance is running on degraded hardware"},
		{"SYSTEM_REBOOT", "system-reboot", "The host of the instance is to be rebooted"},
		{"REBOOT", "instance-reboot", "The instance is to be rebooted"},
		{"STOP", "instance-stop", "The instance is to be stopped"},
		{"MAINTENANCE", "system-maintenance", "The host of the instance is to be maintained"},
	} {
		if strings.Contains(healthCode, known.part) {
			i.scheduled = append(i.scheduled, scheduledEvent{
				id: "instance-event-" + derivedID("", i.ID+healthCode)[2:], code: known.code, description: known.description,
				notBefore: start,
			})
			return
		}
	}
}

// statusOf is a check's result for the instance.
func statusOf(i *instance, check Check) string {
	if i.State != Running {
		return "not-applicable"
	}
	if _, failed := i.impaired[check]; failed {
		return "impaired"
	}
	return "ok"
}

func summaryOf(i *instance, check Check) statusSummaryXML {
	summary := statusSummaryXML{Status: statusOf(i, check)}
	if i.State != Running {
		return summary
	}
	reachability := statusDetails{Name: "reachability", Status: "passed"}
	if since, failed := i.impaired[check]; failed {
		reachability.Status, reachability.ImpairedSince = "failed", timestamp(since)
	}
	summary.Details.Items = append(summary.Details.Items, reachability)
	return summary
}

func statusFilters() fields[*instance] {
	return fields[*instance]{
		"availability-zone":    func(i *instance) []string { return one(i.Zone) },
		"availability-zone-id": func(i *instance) []string { return one(i.ZoneID) },
		"event.code": func(i *instance) []string {
			var codes []string
			for _, event := range i.scheduled {
				codes = append(codes, event.code)
			}
			return codes
		},
		"instance-state-name":    func(i *instance) []string { return one(string(i.State)) },
		"instance-status.status": func(i *instance) []string { return one(statusOf(i, InstanceCheck)) },
		"system-status.status":   func(i *instance) []string { return one(statusOf(i, SystemCheck)) },
	}
}

func (s *Service) describeInstanceStatus(_ *wire.Call, in *describeInstanceStatusRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, err := s.selectInstances(in.InstanceIDs, in.Filters, statusFilters())
	if err != nil {
		return nil, err
	}
	kept = slices.DeleteFunc(kept, func(i *instance) bool { return i.State != Running && !in.IncludeAllInstances })
	page, next, err := paginate(kept, in.MaxResults, in.NextToken, manyResults)
	if err != nil {
		return nil, err
	}
	var all []instanceStatusXML
	for _, i := range page {
		var events set[scheduledEventXML]
		for _, event := range i.scheduled {
			events.Items = append(events.Items,
				scheduledEventXML{event.id, event.code, event.description, timestamp(event.notBefore)})
		}
		all = append(all, instanceStatusXML{
			i.Zone, i.ZoneID, events, i.ID, describeState(i.State), summaryOf(i, InstanceCheck), summaryOf(i, SystemCheck),
		})
	}
	return &describeInstanceStatusResult{setOf(all), next}, nil
}
