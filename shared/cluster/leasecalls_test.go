package cluster_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/cluster"
)

// leaseCalls notes the methods of the requests about Leases.
type leaseCalls struct {
	next http.RoundTripper
	made []string
}

func (l *leaseCalls) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.Contains(request.URL.Path, "/leases") {
		l.made = append(l.made, request.Method)
	}
	return l.next.RoundTrip(request)
}

// take returns the methods since the last call.
func (l *leaseCalls) take() string {
	made := strings.Join(l.made, " ")
	l.made = nil
	return made
}

// container returns the client of a function that lives for some invocations.
func container(t *testing.T) (*cluster.Client, *leaseCalls) {
	t.Helper()
	config, calls := controlPlane.RESTConfig(), &leaseCalls{}
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		calls.next = next
		return calls
	}
	client, err := cluster.NewForConfig(cluster.Endpoint{Name: "prod"}, config)
	if err != nil {
		t.Fatal(err)
	}
	return client, calls
}

// TestAContainerTakesTheLeaseThatItReleasedByOneRequest has two containers take a Lease in turn. The second
// sees what the first does not know.
func TestAContainerTakesTheLeaseThatItReleasedByOneRequest(t *testing.T) {
	one, calls := container(t)
	other, _ := container(t)
	take := func(client *cluster.Client, holder string, second int) *cluster.Lease {
		t.Helper()
		now := noon.Add(time.Duration(second) * time.Second)
		lease, err := client.Consistent().AcquireLease(t.Context(), "warm", holder, now, now.Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		return lease
	}
	release := func(lease *cluster.Lease) {
		t.Helper()
		if lease == nil {
			t.Fatal("no lease to release")
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	asked := func(step, want string) {
		t.Helper()
		if got := calls.take(); got != want {
			t.Errorf("%s: %q, want %q", step, got, want)
		}
	}
	release(take(one, "a", 0))
	asked("a new lease", "GET POST PUT")
	release(take(one, "b", 1))
	asked("a lease that nobody took meanwhile", "PUT PUT")
	release(take(other, "c", 2))
	release(take(one, "d", 3))
	asked("a lease that another had meanwhile", "PUT GET PUT PUT")
	held := take(other, "e", 4)
	if take(one, "f", 5) != nil {
		t.Error("two holders have the lease")
	}
	asked("a lease that another has", "PUT GET")
	if err := one.AskHolder(t.Context(), "warm", noon.Add(5*time.Second)); err != nil {
		t.Fatal(err)
	}
	asked("asking the holder", "PUT")
	if again, err := held.ReleaseUnlessAsked(t.Context()); err != nil || !again {
		t.Errorf("the holder was asked: %t, %v", again, err)
	}
	release(held)
	if err := one.AskHolder(t.Context(), "warm", noon.Add(6*time.Second)); err != nil {
		t.Fatal(err)
	}
	asked("asking nobody", "GET")
	release(take(one, "g", 7))
	asked("a lease that is free again", "GET PUT PUT")
}

// TestALostAnswerOfAWarmContainerDoesNotBlock loses the write by which a container takes the Lease that it
// has released.
func TestALostAnswerOfAWarmContainerDoesNotBlock(t *testing.T) {
	for _, loses := range []string{"request", "answer"} {
		t.Run(loses, func(t *testing.T) {
			connection := &unreliable{loses: loses, writes: 1} // not yet
			client, name := over(t, connection), "warm-lost-"+loses
			lease, err := client.AcquireLease(t.Context(), name, "first", noon, noon.Add(time.Minute))
			if err != nil || lease == nil {
				t.Fatalf("the lease is %v, %v", lease, err)
			}
			if err := lease.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			connection.writes = 0
			lease, err = client.AcquireLease(t.Context(), name, "second", noon, noon.Add(time.Minute))
			if err != nil || lease == nil || connection.writes < 2 {
				t.Fatalf("the lease is %v, %v, after %d writes", lease, err, connection.writes)
			}
			if acquire(t, name, "third", noon, noon.Add(time.Minute)) != nil {
				t.Error("another one has the lease too")
			}
			if err := lease.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}
