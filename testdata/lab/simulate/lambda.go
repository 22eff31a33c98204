package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	functions "github.com/whittle-dev/whittle/shared/function"
)

// container is a function's process, which has one invocation at a time.
type container struct {
	function string
	network  *network
	handler  Handler
	skew     time.Duration
}

// invocation is one event that a container handles.
type invocation struct {
	name, function string
	network        *network
	container      *container
	began          time.Time
	cancel         context.CancelFunc
	calls          int
	poolsRead      time.Time // when it last asked for NodePools past the watch cache
	control        shown     // what it was last shown of what people have frozen
	deletes        string    // the path of the last claim that it ended by choice
	over           bool
	// ended gets the answer. It gets false where the function was killed, took too long or failed.
	ended func(answer []byte, ok bool)
}

// functionTimeout is that of infra/functions.go.
func functionTimeout(function string) time.Duration {
	switch function {
	case "interrupt":
		return 10 * time.Second
	case "watch":
		return 15 * time.Minute
	case "ticker":
		return 30 * time.Second
	case "catalog":
		return 2 * time.Minute
	}
	return time.Minute
}

// invoke starts a function.
func (r *Run) invoke(function string, payload []byte, ended func(answer []byte, ok bool)) {
	r.invocations++
	r.result.Invocations++
	name := fmt.Sprintf("%s-%d", function, r.invocations)
	c, began := r.container(function, name)
	if c == nil {
		ended(nil, false)
		return
	}
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(began+functionTimeout(function)))
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: name})
	i := &invocation{
		name: name, function: function, network: c.network, container: c, began: time.Now().Add(began), cancel: cancel,
		ended: ended,
	}
	r.running[function]++
	r.engine.In(began, func() { r.begin(ctx, i, payload) })
}

// begin lets the container handle the event.
func (r *Run) begin(ctx context.Context, i *invocation, payload []byte) {
	i.network.current.Store(i)
	r.live[i.name] = i
	r.trace("%s begins: %.200s", i.name, payload)
	r.work.Add(1)
	go func() {
		defer r.work.Done()
		answer, err := i.container.handler(ctx, payload)
		r.engine.Arrive("end "+i.name, func() { r.finish(i, answer, err) })
	}()
	r.engine.In(functionTimeout(i.function)+time.Millisecond, func() {
		if !i.over {
			r.kill(i, "its time was up")
		}
	})
	if after, killed := r.weather.killDuring(i); killed {
		r.engine.In(after, func() {
			if !i.over {
				r.kill(i, "while it worked")
			}
		})
	}
}

// finish takes the handler's answer.
func (r *Run) finish(i *invocation, answer []byte, err error) {
	delete(r.live, i.name)
	if i.over {
		return // it was killed
	}
	r.close(i)
	if err != nil {
		// Of several calls that end at the deadline, any may give the error.
		r.trace("%s fails", i.name)
		r.remark(strings.ReplaceAll(err.Error(), "\n", "; "))
	} else {
		r.trace("%s ends: %.200s", i.name, answer)
	}
	i.network.current.Store(nil)
	if r.engine.Chance(0.9, i.name, "stays warm") {
		r.idle[i.function] = append(r.idle[i.function], i.container)
	}
	i.ended(answer, err == nil)
}

func (r *Run) close(i *invocation) {
	i.over = true
	r.running[i.function]--
	i.cancel()
}

// kill ends a function at once. Calls that were sent are carried out; nobody gets their answers.
func (r *Run) kill(i *invocation, why string) {
	if i.over {
		return
	}
	r.result.Kills++
	r.trace("%s is killed %s", i.name, why)
	i.network.dead.Store(true)
	r.close(i)
	i.ended(nil, false)
}

// container returns a warm container, or a new one, and the time until it works.
func (r *Run) container(function, name string) (*container, time.Duration) {
	if idle := r.idle[function]; len(idle) > 0 && !r.engine.Chance(0.1, name, "cold") {
		last := idle[len(idle)-1]
		r.idle[function] = idle[:len(idle)-1]
		return last, r.engine.Between(time.Millisecond, 20*time.Millisecond, name, "start")
	}
	c := &container{function: function, skew: r.weather.skew(name)}
	c.network = &network{run: r, server: r.engine.Number(0, len(r.servers)-1, name, "server")}
	environment := variables()
	handler, err := r.options.Start(function, functions.Deps{
		Now: func() time.Time { return time.Now().Add(c.skew) }, Transport: c.network,
		Getenv: func(name string) string { return environment[name] }, Output: io.Discard,
	})
	if err != nil {
		r.violate("function %s does not start: %v", function, err)
		return nil, 0
	}
	c.handler = handler
	if c.skew != 0 {
		r.trace("%s has a new container, whose clock is off by %s", name, c.skew)
	}
	return c, r.engine.Between(200*time.Millisecond, 2*time.Second, name, "cold start")
}

// mail is a queue whose messages wake a function.
type mail struct {
	run        *Run
	queue      string
	function   string // that reads the queue
	visibility time.Duration
	receives   int // after which a message is a dead letter
	most       int // invocations at a time
	running    int
	messages   []*message
	dead       []*message
	count      int
	polls      bool
}

// message is a message in a queue.
type message struct {
	id, body string
	visible  time.Time
	receives int
	receipt  string
	// accepted is set once an invocation has answered it. The queue may keep it all the same.
	accepted bool
}

// mostInvocations is how many invocations at a time a queue without a limit gets here.
const mostInvocations = 5

// queueNames are the queues of infra/queues.go.
func queueNames() []string {
	return []string{"provision", "lifecycle", "disrupt", "interrupt", "warnings"}
}

func (r *Run) newMail(queue string) *mail {
	m := &mail{run: r, queue: queue, function: queue, visibility: 6 * time.Minute, receives: 5, most: mostInvocations}
	switch queue {
	case "interrupt", "warnings":
		m.function = "interrupt"
		m.visibility, m.receives, m.most = 20*time.Second, 100, 2
	case "lifecycle":
		m.most = 2
	}
	return m
}

// send puts a message into the queue.
func (m *mail) send(body string, delay time.Duration) (id string) {
	r := m.run
	m.count++
	id = fmt.Sprintf("%s-message-%d", m.queue, m.count)
	copies := 1
	if r.engine.Chance(r.weather.duplicates, id, "twice") {
		copies = 2
	}
	for n := range copies {
		late := r.engine.Between(5*time.Millisecond, 100*time.Millisecond, id, "late", fmt.Sprint(n))
		if r.engine.Chance(r.weather.lateMessages, id, "very late", fmt.Sprint(n)) {
			late += r.engine.Between(0, 30*time.Second, id, "how late", fmt.Sprint(n))
		}
		m.messages = append(m.messages, &message{id: id, body: body, visible: time.Now().Add(delay + late)})
		r.engine.In(delay+late, m.poll)
	}
	return id
}

// poll starts invocations for the messages that are visible.
func (m *mail) poll() {
	now := time.Now()
	for {
		var batch []*message
		kept := m.messages[:0]
		for _, one := range m.messages {
			switch {
			case one.visible.After(now):
			case one.receives >= m.receives:
				m.dead = append(m.dead, one)
				m.run.trace("%s is a dead letter", one.id)
				continue
			case len(batch) < batchSize && m.running < m.most:
				batch = append(batch, one)
			}
			kept = append(kept, one)
		}
		m.messages = kept
		if len(batch) == 0 {
			m.pollAgain(now)
			return
		}
		m.receive(batch)
	}
}

// batchSize is the most messages of one invocation.
const batchSize = 10

// pollAgain looks again soon where messages wait for an invocation to end.
func (m *mail) pollAgain(now time.Time) {
	for _, one := range m.messages {
		if !one.visible.After(now) && !m.polls {
			m.polls = true
			m.run.engine.In(200*time.Millisecond, func() {
				m.polls = false
				m.poll()
			})
			return
		}
	}
}

// receive starts one invocation with the messages.
func (m *mail) receive(batch []*message) {
	r := m.run
	event := events.SQSEvent{}
	for _, one := range batch {
		one.receives++
		one.visible = time.Now().Add(m.visibility)
		one.receipt = fmt.Sprintf("%s/%d", one.id, one.receives)
		event.Records = append(event.Records, events.SQSMessage{
			MessageId: one.id, ReceiptHandle: one.receipt, Body: one.body, EventSource: "aws:sqs",
			EventSourceARN: "arn:aws:sqs:" + region + ":" + accountID + ":" + m.queue,
			Attributes: map[string]string{
				"ApproximateReceiveCount": fmt.Sprint(one.receives), "SentTimestamp": fmt.Sprint(time.Now().UnixMilli()),
			},
		})
		r.engine.In(m.visibility, m.poll)
	}
	payload, err := json.Marshal(event)
	if err != nil {
		panic(err) // it consists of strings
	}
	m.running++
	r.invoke(m.function, payload, func(answer []byte, ok bool) {
		m.running--
		if !ok {
			return
		}
		var response events.SQSEventResponse
		if err := json.Unmarshal(answer, &response); err != nil {
			r.violate("function %s answered %.200s: %v", m.function, answer, err)
			return
		}
		for _, one := range batch {
			failed := false
			for _, item := range response.BatchItemFailures {
				failed = failed || item.ItemIdentifier == one.id
			}
			one.accepted = one.accepted || !failed
			if !failed && !r.engine.Chance(r.weather.duplicates/4, one.receipt, "not deleted") {
				m.remove(one)
			}
		}
	})
}

func (m *mail) remove(gone *message) {
	kept := m.messages[:0]
	for _, one := range m.messages {
		if one != gone {
			kept = append(kept, one)
		}
	}
	m.messages = kept
}

// show makes a received message visible after a time.
func (m *mail) show(receipt string, after time.Duration) bool {
	for _, one := range m.messages {
		if one.receipt == receipt {
			one.visible = time.Now().Add(after)
			m.run.engine.In(after, m.poll)
			return true
		}
	}
	return false
}

// tick invokes the ticker each minute.
func (r *Run) tick(minute int) {
	late := r.engine.Between(0, r.weather.scheduleLag, "schedule", fmt.Sprint(minute))
	r.engine.In(late, func() { r.tryTicker(0) })
	r.engine.In(time.Minute, func() { r.tick(minute + 1) })
}

// tryTicker invokes the ticker, and twice more after failures, as Lambda does.
func (r *Run) tryTicker(tries int) {
	r.invoke("ticker", []byte("{}"), func(_ []byte, ok bool) {
		if !ok && tries < 2 {
			r.engine.In(time.Duration(tries+1)*time.Minute, func() { r.tryTicker(tries + 1) })
		}
	})
}
