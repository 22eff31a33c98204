package disruption

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// patient is a node of the pool that is well but for what is said of it.
func patient(name, pool string, change ...func(*Patient)) Patient {
	p := Patient{Claim: &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}, Node: &corev1.Node{}}
	if pool != "" {
		p.Claim.Labels[api.NodePoolLabelKey] = pool
	}
	p.Node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(monday.Add(-time.Hour))}}
	for _, f := range change {
		f(&p)
	}
	return p
}

func reports(kind corev1.NodeConditionType, status corev1.ConditionStatus, since time.Duration) func(*Patient) {
	return func(p *Patient) {
		p.Node.Status.Conditions = slices.DeleteFunc(p.Node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == kind })
		p.Node.Status.Conditions = append(p.Node.Status.Conditions, corev1.NodeCondition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(monday.Add(-since))})
	}
}

func impaired(since time.Duration) func(*Patient) {
	return func(p *Patient) { p.Impairment = &Impairment{Check: "SystemStatus", Since: monday.Add(-since)} }
}

func endOrdered(p *Patient) { at := metav1.NewTime(monday); p.Claim.DeletionTimestamp = &at }

func TestASickNodeIsRepairedAfterItsTime(t *testing.T) {
	const no, unknown = corev1.ConditionFalse, corev1.ConditionUnknown
	for _, test := range []struct {
		name   string
		change func(*Patient)
		sick   string
	}{
		{"a node that is well", func(*Patient) {}, ""},
		{"not ready for half an hour", reports(corev1.NodeReady, no, 30*time.Minute), "Ready is False since"},
		{"not ready for a little less", reports(corev1.NodeReady, no, 30*time.Minute-time.Second), ""},
		{"unreachable for half an hour", reports(corev1.NodeReady, unknown, 30*time.Minute), "Ready is Unknown since"},
		{"a broken accelerator for ten minutes", reports("AcceleratedHardwareReady", no, 10*time.Minute), "AcceleratedHardwareReady is False"},
		{"an accelerator of which nothing is known", reports("AcceleratedHardwareReady", unknown, time.Hour), ""},
		{"broken storage", reports("StorageReady", no, 30*time.Minute), "StorageReady"},
		{"broken networking", reports("NetworkingReady", no, 30*time.Minute), "NetworkingReady"},
		{"a broken kernel", reports("KernelReady", no, 30*time.Minute), "KernelReady"},
		{"a broken container runtime", reports("ContainerRuntimeReady", no, 30*time.Minute), "ContainerRuntimeReady"},
		{"pressure is the scheduler's matter", reports(corev1.NodeMemoryPressure, corev1.ConditionTrue, time.Hour), ""},
		{"a status check that fails for two minutes", impaired(2 * time.Minute), "SystemStatus is impaired since"},
		{"a status check that fails for less", impaired(2*time.Minute - time.Second), ""},
		{"a node whose end has been ordered", func(p *Patient) { reports(corev1.NodeReady, no, time.Hour)(p); endOrdered(p) }, ""},
		{"what is borne no more counts, whatever else is", func(p *Patient) { reports(corev1.NodeReady, no, time.Minute)(p); impaired(time.Hour)(p) }, "SystemStatus"},
	} {
		t.Run(test.name, func(t *testing.T) {
			due, blocked := Repairs([]Patient{patient("a", "default", test.change)}, monday)
			if len(blocked) != 0 {
				t.Errorf("blocked %v", blocked)
			}
			sickness, found := due["a"]
			if found != (test.sick != "") || found && !strings.HasPrefix(sickness.String(), test.sick) {
				t.Errorf("due %v, want %q", due, test.sick)
			}
		})
	}
}

func TestAPoolThatIsTooSickIsLeftAlone(t *testing.T) {
	late, early := reports(corev1.NodeReady, corev1.ConditionUnknown, time.Hour), reports(corev1.NodeReady, corev1.ConditionUnknown, time.Minute)
	pool := func(name string, well int, sick ...func(*Patient)) []Patient {
		var patients []Patient
		for i := range well {
			patients = append(patients, patient(fmt.Sprintf("%s-well-%d", name, i), name))
		}
		for i, change := range sick {
			patients = append(patients, patient(fmt.Sprintf("%s-%d", name, i), name, change))
		}
		return patients
	}
	for _, test := range []struct {
		name     string
		patients []Patient
		due      string
		blocked  string
	}{
		{"a fifth may be sick", pool("p", 8, late, late), "p-0 p-1", ""},
		{"more may not", pool("p", 7, late, late, late), "", "p 3/10 2"},
		{"the fifth is rounded up", pool("p", 4, late, late), "p-0 p-1", ""},
		{"one node is a fifth of itself", pool("p", 0, late), "p-0", ""},
		{"those that are borne count", pool("p", 7, late, early, early), "", "p 3/10 2"},
		{"nothing is blocked where nothing is due", pool("p", 2, early, early, early), "", ""},
		{"those that go already count", pool("p", 3, late, func(p *Patient) { late(p); endOrdered(p) }), "", "p 2/5 1"},
		{"each pool by itself", append(pool("p", 9, late), pool("q", 1, late, late)...), "p-0", "q 2/3 1"},
		{"claims without a pool by all nodes", append(pool("p", 9), pool("", 0, late, late)...), "-0 -1", ""},
		{"which may be too sick", append(pool("p", 1, early, early), pool("", 0, late)...), "", " 3/4 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			due, blocked := Repairs(test.patients, monday)
			if got := strings.Join(slices.Sorted(maps.Keys(due)), " "); got != test.due {
				t.Errorf("due %q, want %q", got, test.due)
			}
			var told []string
			for _, ward := range blocked {
				told = append(told, fmt.Sprintf("%s %d/%d %d", ward.Pool, ward.Unhealthy, ward.Nodes, ward.allowed()))
			}
			if got := strings.Join(told, ", "); got != test.blocked {
				t.Errorf("blocked %q, want %q", got, test.blocked)
			}
		})
	}
}
