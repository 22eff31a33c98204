package cluster_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/cluster"
)

// unreliable is a connection that loses the first write of Leases: the request itself, or its answer.
type unreliable struct {
	next   http.RoundTripper
	loses  string // request or answer
	writes int
}

func (u *unreliable) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet || !strings.Contains(request.URL.Path, "/leases") {
		return u.next.RoundTrip(request)
	}
	u.writes++
	switch {
	case u.writes > 1:
		return u.next.RoundTrip(request)
	case u.loses == "answer":
		response, err := u.next.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		_ = response.Body.Close()
	}
	return nil, errors.New("connection reset by peer")
}

// over returns a client over an unreliable connection.
func over(t *testing.T, connection *unreliable) *cluster.Client {
	t.Helper()
	config := controlPlane.RESTConfig()
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		connection.next = next
		return connection
	}
	client, err := cluster.NewForConfig(cluster.Endpoint{Name: "prod"}, config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestALostAnswerDoesNotBlock loses a write of the Lease at each place of a pass: when the Lease is
// made, taken and released.
func TestALostAnswerDoesNotBlock(t *testing.T) {
	for _, loses := range []string{"request", "answer"} {
		for round, place := range []string{"made", "taken"} {
			t.Run(place+" "+loses, func(t *testing.T) {
				name, now := "lost-"+loses, noon.Add(time.Duration(round)*time.Hour)
				taking := &unreliable{loses: loses}
				lease, err := over(t, taking).AcquireLease(t.Context(), name, "first", now, now.Add(time.Minute))
				if err != nil || lease == nil || taking.writes < 2 {
					t.Fatalf("the lease is %v, %v, after %d writes", lease, err, taking.writes)
				}
				if acquire(t, name, "second", now, now.Add(time.Minute)) != nil {
					t.Error("another one has the lease too")
				}
				if err := lease.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				releasing := &unreliable{loses: loses, writes: 1} // not yet
				lease, err = over(t, releasing).AcquireLease(t.Context(), name, "third", now, now.Add(time.Minute))
				if err != nil || lease == nil {
					t.Fatalf("the lease is %v, %v", lease, err)
				}
				releasing.writes = 0
				if err := lease.Release(t.Context()); err != nil {
					t.Errorf("releasing: %v", err)
				}
				next := acquire(t, name, "fourth", now, now.Add(time.Minute))
				if next == nil {
					t.Fatal("the lease is held until its deadline")
				}
				if err := next.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// TestAClockMayBeBehind holds that a holder has its Lease to the end by its own clock.
func TestAClockMayBeBehind(t *testing.T) {
	acquire(t, "skewed", "behind", noon, noon.Add(time.Minute))
	if acquire(t, "skewed", "ahead", noon.Add(64*time.Second), noon.Add(2*time.Minute)) != nil {
		t.Error("taken from a holder whose clock is 4 s behind")
	}
	if acquire(t, "skewed", "ahead", noon.Add(67*time.Second), noon.Add(2*time.Minute)) == nil {
		t.Error("a holder that died keeps the lease")
	}
}

// TestAPassThatOutlivesItsLeaseWritesNothingMore also holds that it still reads.
func TestAPassThatOutlivesItsLeaseWritesNothingMore(t *testing.T) {
	config := controlPlane.RESTConfig()
	seen := &recorded{}
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		seen.next = next
		return seen
	}
	client, err := cluster.NewForConfig(cluster.Endpoint{Name: "prod"}, config)
	if err != nil {
		t.Fatal(err)
	}
	patch := map[string]any{"metadata": map[string]any{"annotations": map[string]string{"a": "b"}}}
	pod(t, "fenced", "")
	t.Cleanup(func() { remove(t, "fenced") })
	doomed := read(t, "fenced")
	for _, test := range []struct {
		name  string
		lease string
		lasts time.Duration
		end   func(*cluster.Lease) error
	}{
		{"its time is over", "fence-time", 300 * time.Millisecond, func(*cluster.Lease) error {
			time.Sleep(310 * time.Millisecond)
			return nil
		}},
		{"it was released", "fence-released", time.Minute, func(lease *cluster.Lease) error {
			return lease.Release(t.Context())
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := time.Now()
			lease, err := client.AcquireLease(t.Context(), test.lease, "a", now, now.Add(test.lasts))
			if err != nil || lease == nil {
				t.Fatalf("the lease is %v, %v", lease, err)
			}
			ctx := lease.Fence(t.Context())
			if err := cluster.LeaseEnded(ctx); err != nil {
				t.Errorf("under the lease: %v", err)
			}
			if err := client.PatchNode(ctx, "no-such-node", patch); !cluster.IsGone(err) {
				t.Errorf("a write under the lease: %v", err)
			}
			if err := test.end(lease); err != nil {
				t.Fatal(err)
			}
			calls := len(seen.calls)
			for name, write := range map[string]func(context.Context) error{
				"a patch":     func(ctx context.Context) error { return client.PatchNode(ctx, "no-such-node", patch) },
				"a deletion":  func(ctx context.Context) error { return client.DeletePod(ctx, doomed, nil) },
				"an eviction": func(ctx context.Context) error { return client.Evict(ctx, doomed) },
			} {
				for _, late := range []context.Context{ctx, context.WithoutCancel(ctx)} {
					if err := write(late); !errors.Is(err, cluster.ErrLeaseEnded) {
						t.Errorf("%s after the end: %v", name, err)
					}
				}
			}
			if !errors.Is(cluster.LeaseEnded(ctx), cluster.ErrLeaseEnded) || len(seen.calls) != calls {
				t.Errorf("%v, sent %q", cluster.LeaseEnded(ctx), seen.calls[calls:])
			}
			if _, err := client.UnboundPods(ctx); err != nil {
				t.Errorf("reading after the end: %v", err)
			}
			if err := cluster.LeaseEnded(t.Context()); err != nil {
				t.Errorf("without a lease: %v", err)
			}
		})
	}
}

// TestAWriteUnderWayEndsWithTheLease holds that no write arrives long after the end.
func TestAWriteUnderWayEndsWithTheLease(t *testing.T) {
	config := controlPlane.RESTConfig()
	stuck := false
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if stuck {
				<-request.Context().Done()
				return nil, request.Context().Err()
			}
			return next.RoundTrip(request)
		})
	}
	client, err := cluster.NewForConfig(cluster.Endpoint{Name: "prod"}, config)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	lease, err := client.AcquireLease(t.Context(), "stuck", "a", now, now.Add(500*time.Millisecond))
	if err != nil || lease == nil {
		t.Fatalf("the lease is %v, %v", lease, err)
	}
	stuck = true
	err = client.PatchNode(context.WithoutCancel(lease.Fence(t.Context())), "no-such-node", map[string]any{})
	if took := time.Since(now); err == nil || took > 5*time.Second {
		t.Errorf("%v after %s", err, took)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
