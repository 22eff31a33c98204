package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// budgeted is a cluster whose API server takes a tenth of a second for an eviction. It notes how many
// evictions of one app were under way at a time, and which were asked for.
type budgeted struct {
	kubernetes
	unreadable, refuses, silent bool

	mutex     sync.Mutex
	underWay  map[string]int
	most      map[string]int
	asked     []string
	readTimes int
}

func (b *budgeted) PodDisruptionBudgets(context.Context) ([]policyv1.PodDisruptionBudget, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.readTimes++
	if b.unreadable {
		return nil, errors.New("forbidden")
	}
	budget := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "basket"}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "basket"}}
	return []policyv1.PodDisruptionBudget{budget}, nil
}

func (b *budgeted) Evict(ctx context.Context, pod *corev1.Pod) error {
	app := pod.Labels["app"]
	b.mutex.Lock()
	b.asked = append(b.asked, pod.Name)
	b.underWay[app]++
	b.most[app] = max(b.most[app], b.underWay[app])
	b.mutex.Unlock()
	defer func() {
		b.mutex.Lock()
		defer b.mutex.Unlock()
		b.underWay[app]--
	}()
	if b.silent {
		<-ctx.Done()
		return ctx.Err()
	}
	time.Sleep(time.Second / 10)
	if b.refuses && app == "basket" {
		return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	}
	return nil
}

// evictAtOnce asks for the eviction of eight pods of each app at the same time, and returns the errors
// by app. The last two pods of each are not ready.
func evictAtOnce(b *budgeted, apps ...string) map[string][]error {
	b.underWay, b.most = map[string]int{}, map[string]int{}
	e := &evictions{client: b, over: func() bool { return false }}
	failed, controls := map[string][]error{}, true
	var mutex sync.Mutex
	var all sync.WaitGroup
	for _, app := range apps {
		for n := range 8 {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint(app, "-", n),
				Labels:          map[string]string{"app": app},
				OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: app, UID: "uid", Controller: &controls}},
			}}
			if n < 6 {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			}
			all.Go(func() {
				err := e.evict(context.Background(), pod, func(context.Context) error { return nil })
				mutex.Lock()
				defer mutex.Unlock()
				if err != nil {
					failed[app] = append(failed[app], err)
				}
			})
		}
	}
	all.Wait()
	return failed
}

// TestPodsOfOneBudgetAreEvictedOneByOne: evictions side by side conflict in the API server, where each waits
// for half a second and tries again.
func TestPodsOfOneBudgetAreEvictedOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &budgeted{}
		if failed := evictAtOnce(b, "basket", "free"); len(failed) > 0 {
			t.Fatal(failed)
		}
		if want := map[string]int{"basket": 1, "free": 8}; !maps.Equal(b.most, want) || b.readTimes != 1 {
			t.Errorf("%v at a time after %d readings of budgets, want %v", b.most, b.readTimes, want)
		}
	})
}

// TestUnreadableBudgetsSlowDrainsOnly: without budgets, the pods of one controller count as those of one.
func TestUnreadableBudgetsSlowDrainsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &budgeted{unreadable: true}
		if failed := evictAtOnce(b, "basket"); len(failed) > 0 || b.most["basket"] != 1 || len(b.asked) != 8 {
			t.Errorf("%d evictions, %v at a time, %v", len(b.asked), b.most, failed)
		}
	})
}

// TestARefusalHoldsForTheOtherReadyPods of the budget. Pods that are not ready may go nevertheless.
func TestARefusalHoldsForTheOtherReadyPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &budgeted{refuses: true}
		failed := evictAtOnce(b, "basket", "free")
		slices.Sort(b.asked)
		if len(failed["basket"]) != 8 || len(failed["free"]) > 0 || len(b.asked) != 3+8 ||
			!slices.Contains(b.asked, "basket-6") || !slices.Contains(b.asked, "basket-7") {
			t.Errorf("asked for %v, failed %v", b.asked, failed)
		}
		for _, err := range failed["basket"] {
			if err.Error() != "disruption budget default/basket allows no eviction now" {
				t.Errorf("it says %q", err)
			}
		}
	})
}

// TestABudgetWithoutAnswersIsAskedOnce in a pass, so that one pass waits for it once.
func TestABudgetWithoutAnswersIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		b := &budgeted{silent: true}
		failed := evictAtOnce(b, "basket")
		if took := time.Since(began); len(failed["basket"]) != 8 || len(b.asked) != 1 || took > evictWithin {
			t.Errorf("asked for %v in %s", b.asked, took)
		}
	})
}
