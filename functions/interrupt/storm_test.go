package interrupt

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// The storm: twice as many warnings as nodes, a tenth of them for foreign instances, some
// malformed, a third duplicates, all of them at once. That none is lost is what is tested
// here; how long a full one takes is measured by `make storm`.
const (
	stormNodes     = 60
	stormEvents    = 120
	stormForeign   = 12
	stormMalformed = 8
	stormPollers   = 5 // more than the stack lets the queue lead to at once
	stormBatch     = 10
	maximumReceive = 5
	// stormLimit only bounds a failure: how long it takes is logged.
	stormLimit = 5 * time.Minute
)

// arrivals is a queue as SQS and its poller are, but for the wait before another try.
type arrivals struct {
	messages chan lambdaevents.SQSMessage
	mutex    sync.Mutex
	receives map[string]int
	open     int      // messages neither done nor dead
	dead     []string // ids
	batches  int
	done     chan struct{}
}

// poll runs the handler on batches until nothing is open.
func (a *arrivals) poll(t *testing.T, h *Handler) {
	for {
		var batch lambdaevents.SQSEvent
		select {
		case <-a.done:
			return
		case message := <-a.messages:
			batch.Records = append(batch.Records, message)
		}
		for more := true; more && len(batch.Records) < stormBatch; {
			select {
			case message := <-a.messages:
				batch.Records = append(batch.Records, message)
			default:
				more = false
			}
		}
		response, err := h.handle(t.Context(), batch)
		if err != nil {
			t.Error(err)
		}
		a.settle(batch, response)
	}
}

// settle takes back what failed, or gives it up.
func (a *arrivals) settle(batch lambdaevents.SQSEvent, response lambdaevents.SQSEventResponse) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.batches++
	for _, message := range batch.Records {
		failed := slices.ContainsFunc(response.BatchItemFailures,
			func(item lambdaevents.SQSBatchItemFailure) bool { return item.ItemIdentifier == message.MessageId })
		a.receives[message.MessageId]++
		switch {
		case !failed:
			a.open--
		case a.receives[message.MessageId] < maximumReceive:
			a.messages <- message
		default:
			a.open--
			a.dead = append(a.dead, message.MessageId)
		}
	}
	if a.open == 0 {
		close(a.done)
	}
}

// stopwatch notes when nodes are tainted.
type stopwatch struct {
	edge
	mutex   *sync.Mutex
	tainted map[string]time.Time
}

func (s stopwatch) PatchNode(ctx context.Context, name string, patch map[string]any) error {
	err := s.edge.PatchNode(ctx, name, patch)
	if err == nil {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.tainted[name] = time.Now()
	}
	return err
}

func TestStorm(t *testing.T) {
	populate(t)
	queue := &arrivals{
		messages: make(chan lambdaevents.SQSMessage, stormEvents),
		receives: map[string]int{},
		open:     stormEvents,
		done:     make(chan struct{}),
	}
	watch := stopwatch{mutex: &sync.Mutex{}, tainted: map[string]time.Time{}}
	var pollers sync.WaitGroup
	for range stormPollers {
		h, _ := newHandler(t, nil) // a container of its own
		client := edge{server.Client(t, nil)}
		h.connect = func(context.Context) (kubernetes, error) { return stopwatch{client, watch.mutex, watch.tainted}, nil }
		pollers.Go(func() { queue.poll(t, h) })
	}
	warned := send(t, queue)
	select {
	case <-queue.done:
	case <-time.After(stormLimit):
		t.Fatal("the storm does not pass")
	}
	pollers.Wait()
	var times []time.Duration
	for node, at := range warned {
		tainted, found := watch.tainted[node]
		if !found {
			t.Errorf("%s was not tainted", node)
		}
		times = append(times, tainted.Sub(at))
	}
	for _, claim := range functiontest.Get[api.NodeClaimList](t, server, api.NodeClaimsPath+"?labelSelector=storm").Items {
		if claim.DeletionTimestamp == nil {
			t.Errorf("%s is not ending", claim.Name)
		}
	}
	for _, node := range functiontest.Get[corev1.NodeList](t, server, functiontest.NodesPath).Items {
		if _, struck := warned[node.Name]; struck && !disruption.IsTainted(&node) {
			t.Errorf("%s lost its taint", node.Name)
		}
	}
	if len(queue.dead) != stormMalformed ||
		slices.ContainsFunc(queue.dead, func(id string) bool { return id[:3] != "bad" }) {
		t.Errorf("%d dead letters: %v", len(queue.dead), queue.dead)
	}
	slices.Sort(times)
	t.Logf(
		"%d events over %d nodes, %d batches: event to taint %s (median), %s (99th percentile)", stormEvents, stormNodes,
		queue.batches, times[len(times)/2], times[len(times)*99/100])
}

// populate makes the nodes and their claims.
func populate(t *testing.T) {
	t.Helper()
	var group sync.WaitGroup
	for worker := range 10 {
		group.Go(func() {
			for i := worker; i < stormNodes; i += 10 {
				name := fmt.Sprintf("storm-%d", i)
				server.Claim(t, name, fmt.Sprintf("i-0storm%d", i), func(c *api.NodeClaim) {
					c.Labels["storm"], c.Labels[api.LabelInstanceID] = "yes", fmt.Sprintf("i-0storm%d", i)
					c.Labels[corev1.LabelInstanceTypeStable] = fmt.Sprintf("m5.%dxlarge", i%20)
				})
				server.Patch(
					t, api.NodeClaimsPath+"/"+name+"/status", map[string]any{"status": map[string]any{"nodeName": "node-" + name}})
				server.Node(t, "node-"+name, fmt.Sprintf("i-0storm%d", i))
			}
		})
	}
	group.Wait()
}

// send sends the events, in an order of their own, and tells when each node
// was warned first.
func send(t *testing.T, queue *arrivals) map[string]time.Time {
	t.Helper()
	var messages []lambdaevents.SQSMessage
	add := func(id, instance string) {
		text, err := json.Marshal(
			events.Event{ID: id, Time: time.Now(), Account: "123456789012", Region: "us-east-1", Detail: spot(instance)},
		)
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, lambdaevents.SQSMessage{MessageId: id, Body: string(text)})
	}
	random := rand.New(rand.NewPCG(1, 0))
	nodes := map[string]string{} // by the message's id
	warn := func(number int) {
		id := fmt.Sprintf("event-%d", len(messages))
		nodes[id] = fmt.Sprintf("node-storm-%d", number)
		add(id, fmt.Sprintf("i-0storm%d", number))
	}
	for i := range stormNodes {
		warn(i)
	}
	for i := range stormForeign {
		add(fmt.Sprintf("foreign-%d", i), fmt.Sprintf("i-0foreign%d", i))
	}
	for i := range stormMalformed {
		messages = append(
			messages,
			lambdaevents.SQSMessage{
				MessageId: fmt.Sprintf("bad-%d", i),
				Body:      `{"detail-type":"EC2 Spot Instance Interruption Warning","time":"2026-01-01T00:00:00Z","detail":{}}`,
			},
		)
	}
	for len(messages) < stormEvents {
		warn(random.IntN(stormNodes))
	}
	random.Shuffle(len(messages), func(i, j int) { messages[i], messages[j] = messages[j], messages[i] })
	warned := map[string]time.Time{}
	for _, message := range messages {
		if node, ours := nodes[message.MessageId]; ours && warned[node].IsZero() {
			warned[node] = time.Now()
		}
		queue.messages <- message
	}
	return warned
}
