package simulate

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

// furnish makes the objects that a cluster with Whittle has.
func (r *Run) furnish() error {
	type object = map[string]any
	named := func(name string) object { return object{"name": name} }
	for _, name := range []string{"default", "kube-system", "whittle-system", "kube-node-lease"} {
		if _, err := r.store.Create(apiserver.Namespaces, object{"metadata": named(name)}); err != nil {
			return err
		}
	}
	byTag := []any{object{"tags": object{"karpenter.sh/discovery": clusterName}}}
	for _, made := range []struct {
		kind   *apiserver.Kind
		object object
	}{
		{apiserver.Services, object{
			"metadata": object{"name": "kube-dns", "namespace": "kube-system"}, "spec": object{"clusterIP": "10.100.0.10"},
		}},
		{apiserver.NodeClasses, object{"metadata": named("default"), "spec": object{
			"role": nodeRole, "amiSelectorTerms": []any{object{"alias": "al2023@latest"}}, "subnetSelectorTerms": byTag,
			"securityGroupSelectorTerms": byTag,
		}}},
	} {
		if _, err := r.store.Create(made.kind, made.object); err != nil {
			return err
		}
	}
	if err := r.makeStorageClass(); err != nil || r.options.Scene != nil {
		return err
	}
	for _, pool := range []object{
		r.pool("default", object{"karpenter.sh/capacity-type": []any{"spot", "on-demand"}}),
		r.pool("on-demand", object{"karpenter.sh/capacity-type": []any{"on-demand"}}),
	} {
		if _, err := r.store.Create(apiserver.NodePools, pool); err != nil {
			return err
		}
	}
	if err := r.makeDaemons(); err != nil {
		return err
	}
	if err := r.makeBuffer(); err != nil {
		return err
	}
	return r.makeStatic()
}

// pool is a NodePool. The seed chooses its limits and its disruption.
func (r *Run) pool(name string, requirements map[string]any) map[string]any {
	e := r.engine
	var required []any
	for key, values := range requirements {
		required = append(required, map[string]any{"key": key, "operator": "In", "values": values})
	}
	disruption := map[string]any{"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "30s",
		"budgets": []any{map[string]any{"nodes": fmt.Sprint(e.Number(1, 3, "pool", name, "budget"))}}}
	template := map[string]any{
		"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
		"requirements": required, "expireAfter": "Never",
	}
	if e.Chance(0.3, "pool", name, "expires") {
		template["expireAfter"] = fmt.Sprintf("%dm", e.Number(6, 20, "pool", name, "expire after"))
	}
	if e.Chance(0.5, "pool", name, "grace") {
		template["terminationGracePeriod"] = fmt.Sprintf("%dm", e.Number(2, 8, "pool", name, "grace period"))
	}
	annotations := map[string]any{}
	if e.Chance(0.5, "pool", name, "steers") {
		annotations[api.SteerPodsAnnotationKey] = "true"
	}
	return map[string]any{
		"metadata": map[string]any{"name": name, "annotations": annotations},
		"spec": map[string]any{
			"template": map[string]any{"spec": template}, "disruption": disruption,
			"limits": map[string]any{"cpu": fmt.Sprint(e.Number(16, 96, "pool", name, "limit"))},
			"weight": e.Number(1, 2, "pool", name, "weight"),
		},
	}
}

// classReady reports whether the node class has its status.
func (r *Run) classReady() bool {
	for _, class := range apiserver.List[api.EC2NodeClass](r.store, apiserver.NodeClasses) {
		return api.ConditionTrue(class.Status.Conditions, api.ConditionReady)
	}
	return false
}

func (r *Run) classProblem() string {
	for _, class := range apiserver.List[api.EC2NodeClass](r.store, apiserver.NodeClasses) {
		return fmt.Sprint(class.Status.Conditions)
	}
	return "there is none"
}

// workload is a number of equal pods in the namespace default. A pod that goes is replaced.
type workload struct {
	name     string
	count    int
	cpu      int64 // millicores
	memory   int64 // MiB
	grace    int64 // seconds
	manners  manners
	capacity string // capacity type, empty for any
	zone     string // empty for any
	kept     bool   // do-not-disrupt
	spread   bool   // over zones
	prefers  string // the label of the domains that it spreads over where that is possible; empty for none
	gang     bool   // of use only together
	oneZone  bool   // asks for nodes in one zone, which the scheduler knows nothing of
	// instanceType is what every second pod asks for; empty for any.
	instanceType string
	volumes      bool // each of its pods has a volume
	slots        int  // how many pods with volumes it has had at a time
	budget       int  // how many of its pods may be unavailable; 0 for no budget
	uncount      bool // nothing computes its budget, so that no eviction is ever allowed
	made         int
}

// begins lets pods come, change and go.
func (r *Run) begins() {
	e := r.engine
	count := e.Number(2, 7, "workloads")
	most := r.options.Pods
	if most == 0 {
		most = e.Number(15, 90, "pods")
	}
	share := max(most/count, 1)
	for n := range count {
		name := fmt.Sprintf("app-%d", n)
		l := &workload{
			name: name, cpu: int64(e.Number(1, 12, name, "cpu")) * 150, memory: int64(e.Number(1, 8, name, "memory")) * 200,
			grace: int64(e.Number(1, 60, name, "grace")),
		}
		l.manners = r.mannersOf(name, l.grace)
		if e.Chance(0.2, name, "on demand") {
			l.capacity = api.CapacityTypeOnDemand
		}
		if e.Chance(0.15, name, "zone") {
			l.zone = region + string('a'+rune(e.Number(0, 2, name, "which zone")))
		}
		l.kept = e.Chance(0.15, name, "kept")
		l.volumes = e.Chance(0.25, name, "volumes")
		l.spread = e.Chance(0.3, name, "spread") && !l.volumes && l.zone == ""
		if !l.spread && !l.volumes && e.Chance(0.3, name, "prefers") {
			l.prefers = preferred(e.Number(0, 1, name, "prefers what"))
		}
		if e.Chance(0.5, name, "budget") {
			l.budget = e.Number(1, 2, name, "unavailable")
			l.uncount = e.Chance(0.15, name, "budget is not computed")
		}
		r.workloads = append(r.workloads, l)
		r.guard(l)
		r.shift(l, share, 0)
	}
	r.scaleStatic(0)
	r.freezes(0)
	r.askForRooms()
	r.gather()
	r.gatherInVain()
	r.startCron()
	r.startLate()
	r.takeBack()
	r.shortages()
	r.keepComing()
	r.changeTemplate()
	r.retire()
}

// shift changes the number of a workload's pods from time to time, until the calm begins.
func (r *Run) shift(l *workload, most, turn int) {
	e := r.engine
	name := fmt.Sprint(turn)
	e.In(e.Between(0, 30*time.Second, l.name, "starts", name), func() {
		l.count = e.Number(0, most, l.name, "count", name)
		if turn == 0 {
			l.count = max(l.count, 1)
		}
		r.trace("workload %s: %d pods of %dm cores and %d MiB", l.name, l.count, l.cpu, l.memory)
		r.replicate()
	})
	next := e.Between(time.Minute, 6*time.Minute, l.name, "shifts", name)
	if time.Now().Add(next).Before(r.weather.ends) {
		e.In(next, func() { r.shift(l, most, turn+1) })
	}
}

// guard makes the workload's disruption budget.
func (r *Run) guard(l *workload) {
	if l.budget == 0 {
		return
	}
	most := intstr.FromInt32(int32(l.budget))
	_, err := r.store.Create(apiserver.Budgets, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: l.name, Namespace: metav1.NamespaceDefault},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &most, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": l.name}},
		},
	})
	if err != nil {
		r.violate("a budget cannot be made: %v", err)
	}
}

func podName(l *workload) string { return fmt.Sprintf("%s-%d", l.name, l.made) }

// replicate makes and ends pods, as the controller of a ReplicaSet does.
func (r *Run) replicate() {
	pods := apiserver.List[corev1.Pod](r.store, apiserver.Pods)
	for _, l := range r.workloads {
		if l.volumes {
			if err := r.replicateSlots(l, pods); err != nil {
				r.violate("a pod with a volume cannot be made: %v", err)
				return
			}
			continue
		}
		var present []*corev1.Pod
		for _, pod := range pods {
			if pod.Labels["app"] == l.name && pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed {
				present = append(present, pod)
			}
		}
		for n := len(present); n < l.count; n++ {
			l.made++
			if _, err := r.store.Create(apiserver.Pods, l.pod()); err != nil {
				r.violate("a pod cannot be made: %v", err)
				return
			}
		}
		for n := l.count; n < len(present); n++ {
			r.scaleDown(present[n])
		}
	}
	r.result.Pods = max(r.result.Pods, len(pods))
}

// scaleDown deletes a pod that its workload needs no more.
func (r *Run) scaleDown(pod *corev1.Pod) {
	if object := r.store.Get(apiserver.Pods, pod.Namespace, pod.Name); object != nil {
		r.evictions[string(pod.UID)] = "scaled down"
		r.store.Delete(object, nil)
	}
}
