package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/testdata/lab/kubelet"
)

const (
	// rounds limits the rounds of a trial, beside one more for each kill.
	rounds = 30
	// step is the time between two rounds.
	step = 6 * time.Second
	// knownAfter is when all of EC2 knows what a scenario begins with.
	knownAfter = 10 * time.Second
	// fullLook is the number of rounds between two ticks of lifecycle.
	fullLook = 3
)

// trial is one run of a scenario, with or without kills.
type trial struct {
	world    *World
	scenario *Scenario
	ledger   *ledger
	stage    *stage
	kubelets map[string]*kubelet.Kubelet // by node
	// undelivered holds, by function, the event that must be delivered again.
	undelivered map[string]any
	acted       bool // play has changed something since it read the world

	lossy  bool   // the answer that the scenario loses is lost
	cached string // the version of the cluster that the next round's watch cache shows

	mutex     sync.Mutex
	letters   map[string][]letter // by function
	evictions map[string]int      // by pod
	faults    []string
}

// Outcome is the result of a trial.
type Outcome struct {
	Calls  []Call // of the scenario's function
	Kills  []Kill // that have happened
	Rounds int
	Faults []string
	Log    string // of the functions
}

// Try runs one trial of a scenario, in which the function dies at the calls of the kills. The error
// is for a world that cannot be used; violations are in Faults.
func (w *World) Try(ctx context.Context, scenario *Scenario, kills []Kill) (outcome Outcome, err error) {
	if w.bubble == nil {
		return w.try(ctx, scenario, kills)
	}
	w.bubble(func() {
		// A bubble waits for nothing outside.
		outcome, err = w.try(context.WithoutCancel(ctx), scenario, kills)
		w.end()
		err = errors.Join(err, w.account.close())
	})
	return outcome, err
}

func (w *World) try(ctx context.Context, scenario *Scenario, kills []Kill) (Outcome, error) {
	t := &trial{
		world: w, scenario: scenario, ledger: newLedger("", nil), undelivered: map[string]any{},
		letters: map[string][]letter{}, evictions: map[string]int{}, kubelets: map[string]*kubelet.Kubelet{},
	}
	if err := w.reset(ctx); err != nil {
		return Outcome{}, err
	}
	w.gate.attach(t)
	w.uninstalled = scenario.Function == "install"
	w.requests = scenario.Requests
	t.stage = &stage{world: w, ctx: ctx}
	if err := t.begin(ctx); err != nil {
		return Outcome{}, fmt.Errorf("scenario %s: setting it up: %w\n%s", scenario.title(), err, w.log.take())
	}
	t.ledger = newLedger(scenario.Function, kills)
	w.gate.attach(t)
	turns, err := t.advance(ctx)
	if err != nil {
		return Outcome{}, fmt.Errorf("scenario %s: %w\n%s", scenario.title(), err, w.log.take())
	}
	return Outcome{
		Calls: t.ledger.made(), Kills: t.ledger.deaths(), Rounds: turns,
		Faults: t.faults, Log: w.log.take(),
	}, nil
}

func (t *trial) begin(ctx context.Context) error {
	if t.scenario.Arrange != nil {
		t.scenario.Arrange(t.stage)
	}
	if t.stage.err != nil {
		return t.stage.err
	}
	if _, err := t.simulate(ctx); err != nil {
		return err
	}
	t.world.account.delay()
	if passed := t.world.now().Sub(t.world.first); passed < knownAfter {
		if err := t.world.pass(knownAfter - passed); err != nil {
			return err
		}
	}
	var err error
	if t.cached, err = t.world.gate.lag.Present(ctx); err != nil {
		return err
	}
	event := tickFor
	if t.scenario.Event != nil {
		t.undelivered[t.scenario.Function] = t.scenario.Event(t.stage)
		return t.stage.err
	}
	t.undelivered[t.scenario.Function] = event(t.world)
	return nil
}

// loses reports whether the answer to the call is lost, which happens once.
func (t *trial) loses(made request) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if made.name != t.scenario.Loses || t.lossy {
		return false
	}
	t.lossy = true
	return true
}

// advance runs rounds until the scenario has ended, and one more: the end must be stable.
func (t *trial) advance(ctx context.Context) (int, error) {
	over, limit := false, rounds+len(t.ledger.kills)
	for round := range limit {
		if err := t.round(ctx, round); err != nil {
			return 0, err
		}
		s, err := t.simulate(ctx)
		if err != nil {
			return 0, err
		}
		if t.scenario.PartDone != nil && t.scenario.PartDone(s) {
			t.ledger.close()
		}
		missing, err := t.missing(ctx, s)
		switch {
		case err != nil:
			return 0, err
		case over && len(missing) > 0:
			t.fault("all was right and is not any more: %s", strings.Join(missing, "; "))
			return round, nil
		case over || len(t.faults) > 0:
			return round, nil
		case len(missing) == 0:
			over = true
			t.ledger.close()
			if t.scenario.Again != nil && t.scenario.Again(t, s) {
				return round, nil
			}
		case round == limit-1:
			t.fault("after %d rounds: %s", limit, strings.Join(missing, "; "))
		}
	}
	return limit, nil
}

// missing lists what the scenario's end still lacks.
func (t *trial) missing(ctx context.Context, s *state) ([]string, error) {
	var err error
	if s.classes, err = t.world.client.NodeClasses(ctx); err != nil {
		return nil, err
	}
	missing := t.unsettled(s)
	if t.undelivered[t.scenario.Function] != nil {
		missing = append(missing, "what woke "+t.scenario.Function+" was not dealt with")
	}
	if t.scenario.RolledBack != nil && t.ledger.dead() && t.launched(s) == 0 && t.scenario.RolledBack(t, s) == "" {
		return missing, nil
	}
	if launched := t.launched(s); launched != t.scenario.Launches && t.scenario.Launches != anyNumber {
		missing = append(missing, fmt.Sprintf("%d instances were launched, want %d", launched, t.scenario.Launches))
	}
	if t.scenario.Done != nil {
		if lacks := t.scenario.Done(t, s); lacks != "" {
			missing = append(missing, lacks)
		}
	}
	return missing, nil
}

// round invokes each function once, with its undelivered event, the messages of its queue, and a
// tick.
func (t *trial) round(ctx context.Context, number int) error {
	// The watch cache is a round behind, or more where a function dies meanwhile.
	t.world.gate.lag.Show(t.cached)
	var err error
	if t.cached, err = t.world.gate.lag.Present(ctx); err != nil {
		return err
	}
	with := t.scenario.Ticked
	if with == nil {
		with = []string{"provision", "lifecycle", "disrupt"}
	}
	// The scenario's own function comes first, because its event starts the scenario.
	order := append([]string{t.scenario.Function}, slices.DeleteFunc(slices.Clone(with), func(name string) bool {
		return name == t.scenario.Function
	})...)
	for _, name := range order {
		event := t.wake(name, number, slices.Contains(with, name))
		if event == nil {
			continue
		}
		deaths := len(t.ledger.deaths())
		t.ledger.begin(name)
		answer, err := t.world.invoke(ctx, name, event)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errKilled) && len(t.ledger.deaths()) > deaths:
			t.undelivered[name] = event
			// A killed function holds its Leases until its time limit has passed.
			if err := t.world.pass(timeout); err != nil {
				return err
			}
			if t.scenario.OnFirstKill != nil && deaths == 0 {
				t.scenario.OnFirstKill(t.stage)
			}
			if t.stage.err != nil {
				return t.stage.err
			}
		case errors.Is(err, errKilled):
			t.fault("function %s ended by itself", name)
		case err != nil:
			t.undelivered[name] = event
		default:
			t.undelivered[name] = failed(event, answer)
		}
	}
	after := t.scenario.Step
	if after == 0 {
		after = step
	}
	return t.world.pass(after)
}

// wake returns the payload for a function; nil for none.
func (t *trial) wake(name string, round int, ticks bool) any {
	event := t.undelivered[name]
	batch, messages := event.(lambdaevents.SQSEvent)
	if event != nil && !messages || !ticks {
		return event
	}
	if t.world.account.urls[name] == "" {
		return event // it is woken by events alone
	}
	batch.Records = append(batch.Records, t.due(name)...)
	// Ticks of lifecycle are a minute apart. In between, it continues by its own messages.
	if name == "lifecycle" && round%fullLook > 0 {
		next := queue.Message{Cluster: clusterName, At: t.world.now(), Reason: queue.ReasonContinue, Hop: 1}
		batch.Records = append(batch.Records, message(next, fmt.Sprint("continue-", round)))
		return batch
	}
	batch.Records = append(batch.Records, tickMessage(t.world))
	return batch
}

// failed returns the part of an event that the function's answer returns; nil for none.
func failed(event any, answer []byte) any {
	batch, messages := event.(lambdaevents.SQSEvent)
	var response lambdaevents.SQSEventResponse
	if !messages || json.Unmarshal(answer, &response) != nil || len(response.BatchItemFailures) == 0 {
		return nil
	}
	var back lambdaevents.SQSEvent
	for _, record := range batch.Records {
		if slices.ContainsFunc(response.BatchItemFailures, func(failure lambdaevents.SQSBatchItemFailure) bool {
			return failure.ItemIdentifier == record.MessageId
		}) {
			back.Records = append(back.Records, record)
		}
	}
	return back
}
