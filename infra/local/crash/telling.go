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
)

const (
	// rounds bounds how often the functions go on, beside once for each kill.
	rounds = 30
	// step is how much time passes between two rounds.
	step = 6 * time.Second
	// fullLook is how many rounds pass from one tick of lifecycle's to the next.
	fullLook = 3
)

// telling is one run of a story, with a kill or without.
type telling struct {
	world  *World
	story  *Story
	ledger *ledger
	stage  *stage
	// undelivered is what wakes functions and was not dealt with.
	undelivered map[string]any
	acted       bool // play has changed something since it read the world

	mutex     sync.Mutex
	evictions map[string]int // by pod
	faults    []string
}

// Outcome is what came of a telling.
type Outcome struct {
	Calls  []Call // of the story's function
	Kills  []Kill // that have happened
	Rounds int
	Swept  bool // it went on into a time of lifecycle's sweeps, which is a story by itself
	Faults []string
	Log    string // what the functions have written
}

// Tell tells a story; the function dies at the calls of the kills. The error is for a world
// that cannot be used; what the functions do wrong is a fault.
func (w *World) Tell(ctx context.Context, story *Story, kills []Kill) (Outcome, error) {
	t := &telling{world: w, story: story, ledger: newLedger("", nil), undelivered: map[string]any{}, evictions: map[string]int{}}
	if err := w.reset(ctx); err != nil {
		return Outcome{}, err
	}
	w.gate.tell(t)
	w.uninstalled = story.Function == "install"
	t.stage = &stage{world: w, ctx: ctx}
	if err := t.begin(ctx); err != nil {
		return Outcome{}, fmt.Errorf("story %s: setting it up: %w\n%s", story.title(), err, w.log.take())
	}
	t.ledger = newLedger(story.Function, kills)
	w.gate.tell(t)
	began := w.now().Truncate(sweeps)
	turns, err := t.goOn(ctx)
	if err != nil {
		return Outcome{}, fmt.Errorf("story %s: %w\n%s", story.title(), err, w.log.take())
	}
	return Outcome{Calls: t.ledger.made(), Kills: t.ledger.deaths(), Rounds: turns, Swept: w.now().After(began.Add(sweeps)), Faults: t.faults, Log: w.log.take()}, nil
}

func (t *telling) begin(ctx context.Context) error {
	if t.story.Arrange != nil {
		t.story.Arrange(t.stage)
	}
	if t.stage.err != nil {
		return t.stage.err
	}
	if _, err := t.play(ctx); err != nil {
		return err
	}
	event := tickFor
	if t.story.Event != nil {
		t.undelivered[t.story.Function] = t.story.Event(t.stage)
		return t.stage.err
	}
	t.undelivered[t.story.Function] = event(t.world)
	return nil
}

// goOn has the functions act in turn until the story is over, and once more: whatever has
// come right has to stay so.
func (t *telling) goOn(ctx context.Context) (int, error) {
	over, limit := false, rounds+len(t.ledger.kills)
	for round := range limit {
		if err := t.round(ctx, round); err != nil {
			return 0, err
		}
		s, err := t.play(ctx)
		if err != nil {
			return 0, err
		}
		if t.story.Acted != nil && t.story.Acted(s) {
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
		case round == limit-1:
			t.fault("after %d rounds: %s", limit, strings.Join(missing, "; "))
		}
	}
	return limit, nil
}

// missing is what is not yet as it has to be at the story's end.
func (t *telling) missing(ctx context.Context, s *state) ([]string, error) {
	var err error
	if s.classes, err = t.world.client.NodeClasses(ctx); err != nil {
		return nil, err
	}
	missing := t.unsettled(s)
	if t.undelivered[t.story.Function] != nil {
		missing = append(missing, "what woke "+t.story.Function+" was not dealt with")
	}
	if t.story.Spared != nil && t.ledger.dead() && t.launched(s) == 0 && t.story.Spared(t, s) == "" {
		return missing, nil
	}
	if launched := t.launched(s); launched != t.story.Launches && t.story.Launches != anyNumber {
		missing = append(missing, fmt.Sprintf("%d instances were launched, want %d", launched, t.story.Launches))
	}
	if t.story.Done != nil {
		if lacks := t.story.Done(t, s); lacks != "" {
			missing = append(missing, lacks)
		}
	}
	return missing, nil
}

// round has each function act once: on what it was woken by and has not dealt with, on
// what it was sent, and on a tick.
func (t *telling) round(ctx context.Context, number int) error {
	began := time.Now()
	with := t.story.With
	if with == nil {
		with = []string{"provision", "lifecycle", "disrupt"}
	}
	// The story's own comes first: what is about to happen begins with it.
	order := append([]string{t.story.Function}, slices.DeleteFunc(slices.Clone(with), func(name string) bool { return name == t.story.Function })...)
	for _, name := range order {
		event, err := t.wake(ctx, name, number, slices.Contains(with, name))
		if err != nil {
			return err
		}
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
			// Until its time is over the dead one holds what leases it had.
			if err := t.world.pass(timeout); err != nil {
				return err
			}
			if t.story.Meanwhile != nil && deaths == 0 {
				t.story.Meanwhile(t.stage)
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
	after := t.story.Step
	if after == 0 {
		after = step
	}
	// As long on a machine that is busy: what functions do depends on the second of the minute.
	return t.world.pass(max(0, after-time.Since(began)).Round(time.Second))
}

// wake is what a function is given now, nil for nothing.
func (t *telling) wake(ctx context.Context, name string, round int, ticks bool) (any, error) {
	event := t.undelivered[name]
	batch, messages := event.(lambdaevents.SQSEvent)
	if event != nil && !messages || !ticks {
		return event, nil
	}
	if t.world.account.urls[name] == "" {
		return event, nil // it is woken by events alone
	}
	sent, err := t.world.account.received(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, one := range sent {
		batch.Records = append(batch.Records, lambdaevents.SQSMessage{MessageId: one.ID, Body: one.Body})
	}
	// Between its ticks, which are a minute apart, lifecycle looks on by messages of its own.
	if name == "lifecycle" && round%fullLook > 0 {
		next := queue.Message{Cluster: clusterName, At: t.world.now(), Reason: queue.ReasonContinue, Hop: 1}
		batch.Records = append(batch.Records, message(next, fmt.Sprint("continue-", round)))
		return batch, nil
	}
	batch.Records = append(batch.Records, tickMessage(t.world))
	return batch, nil
}

// failed is what of an event comes back, by the function's answer; nil for nothing.
func failed(event any, answer []byte) any {
	batch, messages := event.(lambdaevents.SQSEvent)
	var response lambdaevents.SQSEventResponse
	if !messages || json.Unmarshal(answer, &response) != nil || len(response.BatchItemFailures) == 0 {
		return nil
	}
	var back lambdaevents.SQSEvent
	for _, record := range batch.Records {
		if slices.ContainsFunc(response.BatchItemFailures, func(failure lambdaevents.SQSBatchItemFailure) bool { return failure.ItemIdentifier == record.MessageId }) {
			back.Records = append(back.Records, record)
		}
	}
	return back
}
