package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
)

// evictions lets the drains of a pass evict the pods of one disruption budget one after another. Each
// eviction writes the budget's status. Evictions at the same time conflict there, and the API server
// lets each loser wait for half a second, up to twenty times (EvictionsRetry in Kubernetes'
// pkg/registry/core/pod/storage). Sixteen at a time may take longer than evictWithin.
//
// Once a budget has refused a ready pod, the pass asks for no other ready pod of it. After an eviction
// without an answer in time it asks for none.
type evictions struct {
	client kubernetes
	over   func() bool // whether the pass begins nothing more

	once    sync.Once
	budgets []policyv1.PodDisruptionBudget
	unknown bool // the budgets could not be read

	mutex sync.Mutex
	turns map[string]evictionTurn // by budget
}

// evictionTurn is held by the eviction that is under way. Its content is the refusal of the budget.
type evictionTurn chan error

// evict asks for the eviction of the pod when it is its turn, unless may returns an error then.
func (e *evictions) evict(ctx context.Context, pod *corev1.Pod, may func(context.Context) error) error {
	key := e.budgetOf(ctx, pod)
	if key == "" {
		return e.ask(ctx, pod, may)
	}
	turn := e.turn(key)
	select {
	case refused := <-turn:
		defer func() { turn <- refused }()
		if refused != nil && (protection.IsReady(pod) || errors.As(refused, &errLateEviction{})) {
			return refused
		}
		err := e.ask(ctx, pod, may)
		if apierrors.IsTooManyRequests(err) && !e.unknown {
			err = refusedBy{key, err}
		}
		if cluster.IsEvictionRefused(err) && protection.IsReady(pod) || errors.As(err, &errLateEviction{}) {
			refused = err
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ask asks for the eviction, and returns errOver where the next pass has to.
func (e *evictions) ask(ctx context.Context, pod *corev1.Pod, may func(context.Context) error) error {
	if e.over() {
		return errOver
	}
	if err := may(ctx); err != nil {
		return err
	}
	inTime, cancel := context.WithTimeout(ctx, evictWithin)
	defer cancel()
	err := e.client.Evict(inTime, pod)
	if err != nil && inTime.Err() != nil && ctx.Err() == nil {
		return errLateEviction{err}
	}
	return err
}

// refusedBy is the refusal of a budget, in the same words for each pod.
type refusedBy struct {
	budget string
	error
}

func (r refusedBy) Error() string { return "disruption budget " + r.budget + " allows no eviction now" }

func (r refusedBy) Unwrap() error { return r.error }

// errLateEviction is an eviction without an answer in time.
type errLateEviction struct{ error }

// turn returns the turns of a budget.
func (e *evictions) turn(key string) evictionTurn {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.turns == nil {
		e.turns = map[string]evictionTurn{}
	}
	if e.turns[key] == nil {
		turn := make(evictionTurn, 1)
		turn <- nil
		e.turns[key] = turn
	}
	return e.turns[key]
}

// budgetOf names the budget of the pod; empty for a pod without one. Where the budgets cannot be read,
// the pods of one controller count as those of one budget.
func (e *evictions) budgetOf(ctx context.Context, pod *corev1.Pod) string {
	e.once.Do(func() {
		inTime, cancel := context.WithTimeout(ctx, evictWithin)
		defer cancel()
		var err error
		if e.budgets, err = e.client.PodDisruptionBudgets(inTime); err != nil {
			e.unknown = true
			slog.WarnContext(ctx, "disruption budgets not read: pods of one controller are evicted one by one", "error", err)
		}
	})
	if owner := metav1.GetControllerOf(pod); e.unknown && owner != nil {
		return string(owner.UID)
	}
	if covering := protection.Covering(e.budgets, pod); len(covering) > 0 {
		return covering[0].Namespace + "/" + covering[0].Name
	}
	return ""
}
