package pending_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/hours"
	"github.com/whittle-dev/whittle/shared/pending"
)

// at is a time of Monday, 2 March 2026, in UTC.
func at(hour, minute int) time.Time {
	return time.Date(2026, time.March, 2, hour, minute, 0, 0, time.UTC)
}

func pool(name, sleep string) api.NodePool {
	made := api.NodePool{}
	made.Name = name
	made.Spec.Template.Labels = map[string]string{"team": name}
	if sleep != "" {
		made.Annotations = map[string]string{api.SleepAnnotationKey: sleep, api.WakeAheadAnnotationKey: "0s"}
	}
	return made
}

// waiting is a pod of the team since Sunday, 20:00; of no team with an empty one.
func waiting(team string) *corev1.Pod {
	made := &corev1.Pod{}
	made.CreationTimestamp = metav1.NewTime(at(0, 0).Add(-4 * time.Hour))
	if team != "" {
		made.Spec.NodeSelector = map[string]string{"team": team}
	}
	return made
}

// TestTheSleepOfItsPoolsDoesNotCount has a night from 20:00 to 07:00, and a pod that waits all of it.
func TestTheSleepOfItsPoolsDoesNotCount(t *testing.T) {
	const night = "20:00-07:00"
	tainted := pool("red", "")
	tainted.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	ordered := pool("red", "")
	ordered.ClusterOrder = &hours.Order{SleepUntil: at(7, 0)}
	gone := pool("blue", "")
	gone.DeletionTimestamp = &metav1.Time{}
	unread := waiting("red")
	unread.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{},
	}}
	for name, test := range map[string]struct {
		pools  []api.NodePool
		pod    *corev1.Pod
		now    time.Time
		waited time.Duration
		asleep bool
	}{
		"while it sleeps": {[]api.NodePool{pool("red", night)}, waiting("red"), at(3, 0), 0, true},
		"of any team":     {[]api.NodePool{pool("red", night)}, waiting(""), at(3, 0), 0, true},
		"after five minutes awake": {
			[]api.NodePool{pool("red", night)}, waiting("red"), at(7, 4), 5 * time.Minute, false},
		"after twenty minutes awake": {
			[]api.NodePool{pool("red", night)}, waiting("red"), at(7, 20), 11*time.Hour + 20*time.Minute, false},
		"one pool is awake": {
			[]api.NodePool{pool("red", night), pool("blue", "")}, waiting(""), at(3, 0), 7 * time.Hour, false},
		"another team's is awake": {
			[]api.NodePool{pool("red", night), pool("blue", "")}, waiting("red"), at(3, 0), 0, true},
		"one that goes is awake": {[]api.NodePool{pool("red", night), gone}, waiting(""), at(3, 0), 0, true},
		"one that it does not tolerate is awake": {
			[]api.NodePool{pool("blue", night), tainted}, waiting(""), at(3, 0), 0, true},
		"no pool is for it": {
			[]api.NodePool{pool("red", night)}, waiting("green"), at(3, 0), 7 * time.Hour, false},
		"no pool sleeps":      {[]api.NodePool{pool("red", "")}, waiting("red"), at(3, 0), 7 * time.Hour, false},
		"no pool":             {nil, waiting("red"), at(3, 0), 7 * time.Hour, false},
		"the cluster sleeps":  {[]api.NodePool{ordered}, waiting("red"), at(3, 0), 0, true},
		"it cannot be read":   {[]api.NodePool{pool("red", night)}, unread, at(3, 0), 7 * time.Hour, false},
		"a sleep that is odd": {[]api.NodePool{pool("red", "at night")}, waiting("red"), at(3, 0), 7 * time.Hour, false},
	} {
		waited, asleep := pending.New(test.pools, test.now).Of(test.pod)
		if waited < test.waited-time.Minute || waited > test.waited || asleep != test.asleep {
			t.Errorf("%s: it has waited %s, asleep %t, want %s", name, waited, asleep, test.waited)
		}
	}
}
