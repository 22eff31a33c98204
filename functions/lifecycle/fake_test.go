package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/queue"
)

// fakeEC2 holds instances in memory. A terminated instance shuts down until it has been described.
type fakeEC2 struct {
	mutex     sync.Mutex
	instances []fleet.Instance
	unlisted  map[string]bool // ids that the list by tags leaves out
	// described holds the ids of each call of Describe.
	described [][]string
	statuses  map[string]fleet.Status
	refuse    error
	// reboots are the ids of each call of Reboot that got through, and refuseReboot is its error.
	reboots      []string
	refuseReboot error
}

func (e *fakeEC2) Instances(context.Context) ([]fleet.Instance, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.refuse != nil {
		return nil, e.refuse
	}
	return slices.DeleteFunc(slices.Clone(e.instances),
		func(i fleet.Instance) bool { return e.unlisted[i.ID] || i.State == "terminated" }), nil
}

func (e *fakeEC2) Describe(_ context.Context, ids ...string) (fleet.Described, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.refuse != nil {
		return fleet.Described{}, e.refuse
	}
	e.described = append(e.described, ids)
	var answer fleet.Described
	for _, id := range ids {
		at := slices.IndexFunc(e.instances, func(i fleet.Instance) bool { return i.ID == id })
		if at < 0 {
			answer.Absent = append(answer.Absent, id)
			continue
		}
		answer.Found = append(answer.Found, e.instances[at])
		if e.instances[at].State == "shutting-down" {
			e.instances[at].State = "terminated"
		}
	}
	return answer, nil
}

func (e *fakeEC2) Statuses(context.Context) (map[string]fleet.Status, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return maps.Clone(e.statuses), e.refuse
}

func (e *fakeEC2) Terminate(_ context.Context, id string) error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.refuse != nil {
		return e.refuse
	}
	for i := range e.instances {
		if e.instances[i].ID == id && e.instances[i].State != "terminated" {
			e.instances[i].State = "shutting-down"
		}
	}
	return nil
}

func (e *fakeEC2) Reboot(_ context.Context, id string) error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.refuseReboot == nil {
		e.reboots = append(e.reboots, id)
	}
	return e.refuseReboot
}

func (e *fakeEC2) Tag(_ context.Context, id string, tags map[string]string) error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.refuse != nil {
		return e.refuse
	}
	for i := range e.instances {
		for key, value := range tags {
			if e.instances[i].ID == id {
				e.instances[i].Tags[key] = value
			}
		}
	}
	return nil
}

func (e *fakeEC2) running() []string {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	var ids []string
	for _, instance := range e.instances {
		if instance.State == "running" {
			ids = append(ids, instance.ID)
		}
	}
	return ids
}

func (e *fakeEC2) tags(id string) map[string]string {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	for _, instance := range e.instances {
		if instance.ID == id {
			return instance.Tags
		}
	}
	return nil
}

// launch adds a running instance that was launched ten minutes before.
func (e *fakeEC2) launch(id string, tags map[string]string) {
	marked := map[string]string{api.NodePoolTagKey: "default", api.ClusterTagKey("test"): api.ClusterTagOwned}
	maps.Copy(marked, tags)
	e.instances = append(e.instances, fleet.Instance{
		ID: id, Zone: "us-east-1a", State: "running", LaunchTime: time.Now().Add(-10 * time.Minute), Tags: marked,
		HostName: "node-" + strings.TrimPrefix(id, "i-"),
	})
}

// mailbox keeps the messages that are sent.
type mailbox struct {
	sent   map[string][]queue.Message
	refuse string
}

func (m *mailbox) Send(_ context.Context, url string, messages ...queue.Message) error {
	if url == m.refuse {
		return errors.New("queue is gone")
	}
	if m.sent == nil {
		m.sent = map[string][]queue.Message{}
	}
	m.sent[url] = append(m.sent[url], messages...)
	return nil
}

// clock is the present time plus an offset.
type clock struct{ ahead time.Duration }

func (c *clock) now() time.Time { return time.Now().Add(c.ahead) }

// leaveHalfHour moves the clock away from the minutes in which a tick sweeps.
func (c *clock) leaveHalfHour() {
	if minute := c.now().Minute() % typesEvery; minute == 0 || minute == typesEvery-1 {
		c.ahead += 2 * time.Minute
	}
}

func wakes(t *testing.T, messages ...queue.Message) events.SQSEvent {
	t.Helper()
	var batch events.SQSEvent
	for i, message := range messages {
		body, err := json.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		batch.Records = append(batch.Records, events.SQSMessage{MessageId: string(rune('a' + i)), Body: string(body)})
	}
	return batch
}

func (h *Handler) tick() queue.Message {
	return queue.Message{Cluster: "test", At: h.now(), Reason: queue.ReasonTick}
}
