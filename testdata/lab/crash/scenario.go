package crash

import (
	"encoding/json"
	"fmt"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/queue"
)

// Scenario is an event in a cluster that a function acts on.
type Scenario struct {
	// Function is the function that is killed at each of its calls.
	Function, Name string
	// Arrange creates the initial state. Its pods exist, and its instances have joined, when Event
	// is called.
	Arrange func(*stage)
	// Event causes the event and returns the function's payload; nil means a tick.
	Event func(*stage) any
	// OnFirstKill runs after the function has died for the first time, before any function goes on.
	OnFirstKill func(*stage)
	// Ticked names the functions that ticks wake; nil means provision, lifecycle and disrupt.
	Ticked []string
	// Step is the time between two rounds of ticks; 0 means 6 s.
	Step time.Duration
	// Loses names a call to AWS whose first answer is lost.
	Loses string
	// Alone returns each kill its own trial, for scenarios that are too short for two kills.
	Alone bool
	// Launches is the exact number of instances that the functions launch; anyNumber if it depends
	// on the kill.
	Launches int
	// PartDone reports that the function has done its part, so that its later calls do not count.
	// Nil means that it works to the end.
	PartDone func(*state) bool
	// Done says what is missing at the scenario's end, beside the invariants; empty for nothing.
	Done func(*trial, *state) string
	// RolledBack accepts another end after a kill: the functions launched nothing and returned to
	// the initial state. Nil accepts none.
	RolledBack func(*trial, *state) string
	// Again reports at the end that the functions are to try again by now, so that no further round shows that the
	// end is stable. Nil means that they never do.
	Again func(*trial, *state) bool

	// Requests is set where the functions answer ProvisioningRequests.
	Requests bool
	// IgnoresBudgets is set where pods go whatever guards them.
	IgnoresBudgets bool
	// PodsNeverEnd is set where no kubelet ends its pods.
	PodsNeverEnd bool
	// NodesNeverReady is set where nodes join and never become ready.
	NodesNeverReady bool
	// MayKeepStopped is set where a claim may keep an instance that does not run.
	MayKeepStopped bool
}

const anyNumber = -1

func (s *Scenario) title() string { return s.Function + "/" + s.Name }

// Scenarios returns all scenarios. A new one goes into one of these lists.
func Scenarios() []Scenario {
	var all []Scenario
	for _, list := range [][]Scenario{
		tickerScenarios(), provisionScenarios(), gangScenarios(), interruptScenarios(), lifecycleScenarios(),
		classScenarios(), provisionerScenarios(), disruptScenarios(), catalogScenarios(), installScenarios(),
		consoleScenarios(),
	} {
		all = append(all, list...)
	}
	return all
}

// tickFor returns the payload of a tick that is due now.
func tickFor(w *World) any { return batchOf(tickMessage(w)) }

func tickMessage(w *World) lambdaevents.SQSMessage {
	return message(queue.Message{Cluster: clusterName, At: w.now(), Reason: queue.ReasonTick},
		fmt.Sprintf("tick-%d", w.now().UnixNano()))
}

func message(content any, id string) lambdaevents.SQSMessage {
	body, err := json.Marshal(content)
	if err != nil {
		panic(err) // only values of this package's are given
	}
	return lambdaevents.SQSMessage{MessageId: id, ReceiptHandle: id, Body: string(body)}
}

func batchOf(messages ...lambdaevents.SQSMessage) lambdaevents.SQSEvent {
	return lambdaevents.SQSEvent{Records: messages}
}

// eventOf returns a batch with one EventBridge event about an instance, from the queue to which the rules
// of infra/rules.go send it.
func eventOf(w *World, detail events.Detail) any {
	made := message(events.Event{ID: "event", Time: w.now(), Account: accountID, Region: region, Detail: detail}, "event")
	from := "interrupt"
	switch detail.(type) {
	case *events.SpotInterruption, *events.RebalanceRecommendation, *events.CapacityReservationInterruption:
		from = "warnings"
	}
	made.EventSourceARN = "arn:aws:sqs:" + region + ":" + accountID + ":" + from
	return batchOf(made)
}
