package snapshot_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/planning"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// monthBoot is the time from a launch until pods run on the node, and monthDrain that of a drain.
const (
	monthBoot  = 2 * time.Minute
	monthDrain = time.Minute
	wakeAhead  = 5 * time.Minute
)

// month is a cluster that lives in virtual time. Plans and candidates are those of the functions.
type month struct {
	t       *testing.T
	objects snapshot.Objects
	catalog *catalog.Catalog
	now     time.Time
	number  int
	// joins and ends are when a claim's node is ready, and when it is gone, by the claim's name. nominated
	// are the claims of pods, by their names.
	joins, ends map[string]time.Time
	nominated   map[string]string
	// done is when a Job ends that runs, and length how long one takes, by the pod's name.
	done   map[string]time.Time
	length map[string]time.Duration
	// paid are the minutes of nodes, by their pool.
	paid map[string]int
	// waited is how long a pod waited while its pool should be awake, by its name.
	waited map[string]time.Duration
	looks  int
}

func sleepingPool(name, windows string) api.NodePool {
	pool := poolOf(name, "default")
	pool.Annotations = map[string]string{
		api.SleepAnnotationKey: windows, api.TimeZoneAnnotationKey: "Europe/Berlin",
		api.WakeAheadAnnotationKey: wakeAhead.String(),
	}
	pool.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
		{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"m5.large"}},
		{Key: api.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{api.CapacityTypeOnDemand}},
	}
	pool.Spec.Disruption.Budgets = []api.Budget{{Nodes: "50%"}}
	pool.Status.Conditions = []metav1.Condition{{Type: api.ConditionReady, Status: metav1.ConditionTrue}}
	pool.Default()
	return pool
}

// add makes a pod that waits for a node of the pool, and fills one.
func (m *month) add(pool string) string {
	m.number++
	name := fmt.Sprintf("%s-%d", pool, m.number)
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(m.now)}}
	pod.Spec.NodeSelector = map[string]string{api.NodePoolLabelKey: pool}
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")},
	}}}
	pod.Status.Phase = corev1.PodPending
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	m.objects.Pods = append(m.objects.Pods, pod)
	return name
}

// begin makes the nodes ready whose boot has ended, with their pods, and takes away those that have ended.
// The pods of these wait again: Deployments and Jobs make new ones.
func (m *month) begin() (changed bool) {
	for i := range m.objects.NodePools {
		pool := &m.objects.NodePools[i]
		for name, at := range m.joins {
			if at.After(m.now) || m.objects.NodeClaims[m.claim(name)].Labels[api.NodePoolLabelKey] != pool.Name {
				continue
			}
			delete(m.joins, name)
			claim, node := full(name, pool)
			for j := range claim.Status.Conditions {
				claim.Status.Conditions[j].LastTransitionTime = metav1.NewTime(m.now)
			}
			claim.CreationTimestamp = metav1.NewTime(m.now)
			m.objects.NodeClaims[m.claim(name)] = claim
			m.objects.Nodes = append(m.objects.Nodes, node)
			for j := range m.objects.Pods {
				if pod := &m.objects.Pods[j]; m.nominated[pod.Name] == name {
					pod.Spec.NodeName, pod.Status.Phase, pod.Status.Conditions = name, corev1.PodRunning, nil
					if takes, isJob := m.length[pod.Name]; isJob {
						m.done[pod.Name] = m.now.Add(takes)
					}
				}
			}
			changed = true
		}
	}
	for name, at := range m.ends {
		if at.After(m.now) {
			continue
		}
		delete(m.ends, name)
		m.objects.NodeClaims = slices.Delete(m.objects.NodeClaims, m.claim(name), m.claim(name)+1)
		m.objects.Nodes = slices.DeleteFunc(m.objects.Nodes, func(n corev1.Node) bool { return n.Name == name })
		for i := range m.objects.Pods {
			if pod := &m.objects.Pods[i]; pod.Spec.NodeName == name {
				pod.Spec.NodeName, pod.Status.Phase = "", corev1.PodPending
				pod.Status.Conditions = []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
				pod.CreationTimestamp = metav1.NewTime(m.now)
				delete(m.done, pod.Name)
				delete(m.nominated, pod.Name)
			}
		}
		changed = true
	}
	return changed
}

func (m *month) claim(name string) int {
	return slices.IndexFunc(m.objects.NodeClaims, func(c api.NodeClaim) bool { return c.Name == name })
}

// finish ends the Jobs whose time is over, and their nodes, which are empty then. It stands for the
// removal of empty nodes.
func (m *month) finish() (changed bool) {
	for i := len(m.objects.Pods) - 1; i >= 0; i-- {
		pod := m.objects.Pods[i]
		if at, runs := m.done[pod.Name]; !runs || at.After(m.now) {
			continue
		}
		delete(m.done, pod.Name)
		m.objects.Pods = slices.Delete(m.objects.Pods, i, i+1)
		m.end(pod.Spec.NodeName)
		changed = true
	}
	return changed
}

func (m *month) end(name string) {
	if _, ending := m.ends[name]; ending {
		return
	}
	m.ends[name] = m.now.Add(monthDrain)
	deleted := metav1.NewTime(m.now)
	m.objects.NodeClaims[m.claim(name)].DeletionTimestamp = &deleted
}

// look is a pass of both functions: launches for the pods that wait, and ends of nodes of pools that sleep.
func (m *month) look() {
	m.looks++
	o := m.objects
	o.Pods = slices.DeleteFunc(slices.Clone(o.Pods), func(p corev1.Pod) bool {
		return p.Spec.NodeName == "" && m.nominated[p.Name] != ""
	})
	made := snapshot.NewOffer(&o, m.catalog, catalog.Observed{}, m.now).Assemble(&o, m.now)
	decided := planning.Solve(made)
	for i := range decided.NodeClaims {
		planned := &decided.NodeClaims[i]
		m.number++
		claim := planned.NodeClaim.DeepCopy()
		claim.Name, claim.UID = fmt.Sprintf("node-%d", m.number), types.UID(fmt.Sprintf("node-%d", m.number))
		claim.CreationTimestamp = metav1.NewTime(m.now)
		claim.Status.ProviderID = api.ProviderID("us-east-1a", "i-"+claim.Name)
		m.objects.NodeClaims = append(m.objects.NodeClaims, *claim)
		m.joins[claim.Name] = m.now.Add(monthBoot)
		for _, pod := range planned.Pods {
			m.nominated[pod.Name] = claim.Name
		}
	}
	seen, err := snapshot.Disruption(&m.objects, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	candidates, _ := disruption.Candidates(seen, m.now)
	asleep, _ := disruption.Asleep(candidates)
	for _, candidate := range asleep {
		m.end(candidate.Node.Claim.Name)
	}
}

// count adds a minute to the bill, and to the waits of pods whose pool should be awake.
func (m *month) count(awake map[string]func(time.Time) bool) {
	for i := range m.objects.NodeClaims {
		m.paid[m.objects.NodeClaims[i].Labels[api.NodePoolLabelKey]]++
	}
	for i := range m.objects.Pods {
		pod := &m.objects.Pods[i]
		pool := pod.Spec.NodeSelector[api.NodePoolLabelKey]
		if pod.Spec.NodeName == "" && awake[pool](m.now) {
			m.waited[pod.Name] += time.Minute
		}
	}
}

// TestAMonthOfSleepingPoolsCostsWhatItsWindowsSay lives through March 2026, in which the clocks of Berlin go
// ahead. A Deployment of four pods runs in office hours, and Jobs in the nights.
func TestAMonthOfSleepingPoolsCostsWhatItsWindowsSay(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	sold := *catalogtest.Catalog(t)
	sold.InstanceTypes = slices.DeleteFunc(slices.Clone(sold.InstanceTypes), func(info catalog.InstanceTypeInfo) bool {
		return info.InstanceType != "m5.large" // the month has thousands of plans
	})
	m := &month{
		t: t, catalog: &sold, joins: map[string]time.Time{}, ends: map[string]time.Time{},
		nominated: map[string]string{}, done: map[string]time.Time{}, length: map[string]time.Duration{},
		paid: map[string]int{}, waited: map[string]time.Duration{},
	}
	m.objects.NodeClasses = []api.EC2NodeClass{*catalogtest.NodeClass("default")}
	m.objects.NodePools = []api.NodePool{
		sleepingPool("web", "Sun-Fri 20:00-07:00; Sat,Sun"), sleepingPool("batch", "0 6 * * * for 14h"),
	}
	// The hours by the clock, without package hours. A window by cron lasts its 14 hours also on the day of
	// the change, which begins and ends after it.
	awake := map[string]func(time.Time) bool{
		"web": func(at time.Time) bool {
			local := at.In(berlin)
			return local.Weekday() != time.Saturday && local.Weekday() != time.Sunday && local.Hour() >= 7 && local.Hour() < 20
		},
		"batch": func(at time.Time) bool { local := at.In(berlin); return local.Hour() >= 20 || local.Hour() < 6 },
	}
	begin := time.Date(2026, 3, 1, 0, 0, 0, 0, berlin)
	end := begin.AddDate(0, 1, 0)
	m.now = begin
	for range 4 {
		m.add("web")
	}
	openMinutes, jobs, mornings := 0, 0, 0
	asleep := map[string]bool{}
	for ; m.now.Before(end); m.now = m.now.Add(time.Minute) {
		local := m.now.In(berlin)
		changed := m.begin()
		changed = m.finish() || changed
		// Jobs of two hours come at 15:00 and wait for the night, and others come in the night.
		if local.Minute() == 0 && (local.Hour() == 15 || local.Hour() == 22) {
			m.length[m.add("batch")] = 2 * time.Hour
			jobs, changed = jobs+1, true
		}
		for i := range m.objects.NodePools {
			pool := &m.objects.NodePools[i]
			if rests := pool.Rest(m.now).Asleep; rests != asleep[pool.Name] {
				asleep[pool.Name], changed = rests, true
			}
		}
		if changed || local.Minute()%30 == 0 || len(m.ends) > 0 || m.draining(asleep) {
			m.look()
		}
		if awake["web"](m.now) {
			openMinutes++
			if local.Hour() == 7 && local.Minute() == 0 {
				if mornings++; m.ready("web") != 4 {
					t.Errorf("%s: %d pods run at the hour", local, m.ready("web"))
				}
			}
		}
		m.count(awake)
	}
	if mornings != 22 || jobs != 62 {
		t.Fatalf("%d mornings and %d jobs are not those of March 2026", mornings, jobs)
	}
	// Four nodes in the open hours, and before the hour for the time of waking, and after it for their drains.
	open, most := 4*openMinutes, 4*openMinutes+mornings*4*int((wakeAhead+4*monthDrain)/time.Minute)
	if m.paid["web"] < open || m.paid["web"] > most {
		t.Errorf("web: %d minutes of nodes, want from %d to %d", m.paid["web"], open, most)
	}
	// A Job's node lives for two hours, its boot and its end.
	each := int((2*time.Hour + monthBoot + monthDrain) / time.Minute)
	if got := float64(m.paid["batch"]) / float64(jobs*each); math.Abs(got-1) > 0.02 {
		t.Errorf("batch: %d minutes of nodes for %d jobs", m.paid["batch"], jobs)
	}
	for pod, waited := range m.waited {
		if waited > monthBoot {
			t.Errorf("pod %s waited %s for a pool that should be awake", pod, waited)
		}
	}
	always := 4 * int(end.Sub(begin)/time.Minute)
	t.Logf("web: %d minutes of nodes, %.1f %% of a month without sleep, and %.1f %% by the windows; %d looks",
		m.paid["web"], 100*float64(m.paid["web"])/float64(always), 100*float64(open)/float64(always), m.looks)
}

// draining tells whether a pool that sleeps still has nodes.
func (m *month) draining(asleep map[string]bool) bool {
	return slices.ContainsFunc(m.objects.NodeClaims, func(c api.NodeClaim) bool {
		return asleep[c.Labels[api.NodePoolLabelKey]]
	})
}

// ready are the running pods of the pool.
func (m *month) ready(pool string) (running int) {
	for i := range m.objects.Pods {
		if pod := &m.objects.Pods[i]; pod.Spec.NodeName != "" && pod.Spec.NodeSelector[api.NodePoolLabelKey] == pool {
			running++
		}
	}
	return running
}
