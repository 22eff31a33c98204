package crash

import (
	"encoding/json"
	"fmt"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/queue"
)

// Story is something that happens to a cluster, and that a function acts on.
type Story struct {
	// Function is the one that is killed at each of its calls.
	Function, Name string
	// Arrange makes the world in which it begins. What it makes of pods, and of instances
	// that are to join, is there when Event is called.
	Arrange func(*stage)
	// Event is what happens then, and gives what wakes the function; nil for a tick.
	Event func(*stage) any
	// Meanwhile is what happens when the function has died for the first time, before anybody goes on.
	Meanwhile func(*stage)
	// With are the functions that go on by ticks; nil means provision, lifecycle and disrupt.
	With []string
	// Step is how much time passes between two rounds of ticks; 0 means 6 s.
	Step time.Duration
	// Alone is for a story that is over too soon for two kills: each is tried by itself.
	Alone bool
	// Launches is how many instances the functions launch in it, neither more nor fewer;
	// anyNumber where that depends on when the function dies.
	Launches int
	// Acted tells that the function has done its part: later on it finds nothing to do, and
	// its calls are no more of the story. Nil where it acts to the end.
	Acted func(*state) bool
	// Done says what is still missing of the story's end, beside that everything belongs
	// together; empty for nothing.
	Done func(*telling, *state) string
	// Spared is another end that a kill may lead to, at which the functions have launched
	// nothing and gone back to where they began; nil for none.
	Spared func(*telling, *state) string

	// Forceful is for a story in which pods go whatever guards them.
	Forceful bool
	// Stubborn is for one in which no pod ends though its kubelet is told to.
	Stubborn bool
	// Unready is for one in which nodes that join are never ready.
	Unready bool
	// Halted is for one in which a claim may keep an instance that does not run.
	Halted bool
}

const anyNumber = -1

func (s *Story) title() string { return s.Function + "/" + s.Name }

// Stories are all there are. What happens to a cluster anew is added to one of the lists.
func Stories() []Story {
	var all []Story
	for _, list := range [][]Story{
		tickerStories(), provisionStories(), interruptStories(), lifecycleStories(), classStories(), disruptStories(), catalogStories(), installStories(), consoleStories(),
	} {
		all = append(all, list...)
	}
	return all
}

// tickFor is a tick that is due now.
func tickFor(w *World) any { return batchOf(tickMessage(w)) }

func tickMessage(w *World) lambdaevents.SQSMessage {
	return message(queue.Message{Cluster: clusterName, At: w.now(), Reason: queue.ReasonTick}, fmt.Sprintf("tick-%d", w.now().UnixNano()))
}

func message(content any, id string) lambdaevents.SQSMessage {
	body, err := json.Marshal(content)
	if err != nil {
		panic(err) // only values of this package's are given
	}
	return lambdaevents.SQSMessage{MessageId: id, Body: string(body)}
}

func batchOf(messages ...lambdaevents.SQSMessage) lambdaevents.SQSEvent {
	return lambdaevents.SQSEvent{Records: messages}
}

// eventOf is a batch with one event of EventBridge's about an instance.
func eventOf(w *World, detail events.Detail) any {
	return batchOf(message(events.Event{ID: "event", Time: w.now(), Account: accountID, Region: region, Detail: detail}, "event"))
}
