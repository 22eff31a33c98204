package simulate

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

const (
	// hopelessEvery and hopelessFor are how often a pod comes that no node may run, and how long it waits.
	hopelessEvery = 20 * time.Second
	hopelessFor   = 45 * time.Second
	// cronEvery is how often a job of the cron comes.
	cronEvery = time.Minute
	// lateName is the workload that comes after the last fault, and its pool. The label is that of its nodes.
	lateName, lateLabel = "latecomer", "example.com/latecomer"
	// vainGang is the gang that no cluster has room for, and rareType is what half of its pods ask for.
	vainGang = "vain-gang"
	rareType = "m5.4xlarge"
)

// keepComing lets pods come that no node may run, until the end: a wrong selector, or a job that waits for a
// node group of somebody else. Whatever else is due has to go on.
func (r *Run) keepComing() {
	if !r.hasHopeless() {
		return
	}
	made := 0
	r.engine.Every(hopelessEvery, hopelessEvery, func() {
		if r.resting {
			return
		}
		made++
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprint("hopeless-", made), Namespace: metav1.NamespaceDefault,
		}}
		pod.Spec.NodeSelector = map[string]string{"example.com/rack": "nowhere"}
		pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "main"}}
		stored, err := r.store.Create(apiserver.Pods, pod)
		if err != nil {
			r.violate("a pod cannot be made: %v", err)
			return
		}
		r.engine.In(hopelessFor, func() {
			if object := r.store.Get(apiserver.Pods, pod.Namespace, pod.Name); object != nil {
				r.evictions[string(stored.Meta.GetUID())] = "gone"
				r.store.Delete(object, nil)
			}
		})
	})
}

// hasHopeless reports whether pods come that no node may run.
func (r *Run) hasHopeless() bool { return r.engine.Chance(0.25, "pods that fit nowhere") }

// hasCron reports whether a short job comes each minute.
func (r *Run) hasCron() bool { return r.engine.Chance(0.3, "cron") }

// cron is how many thousandths of a processor each pod of the cron's jobs requests, and the most pods of a job.
func (r *Run) cron() (cpu int64, most int) {
	return int64(r.engine.Number(1, 6, "cron", "cpu")) * 300, r.engine.Number(1, 3, "cron", "pods")
}

// startCron lets a short job come each minute until the end.
func (r *Run) startCron() {
	e := r.engine
	if !r.hasCron() {
		return
	}
	cpu, most := r.cron()
	turn := 0
	e.Every(cronEvery, cronEvery, func() {
		if r.resting {
			return
		}
		turn++
		job := &workload{
			name: fmt.Sprint("cron-", turn), count: e.Number(1, most, "cron", "count", fmt.Sprint(turn)), cpu: cpu, memory: 256,
			grace: 1,
		}
		r.workloads = append(r.workloads, job)
		r.replicate()
		r.endJob(job, e.Between(5*time.Second, 40*time.Second, job.name, "runs"))
	})
}

// endJob ends the job once its pods have run for so long.
func (r *Run) endJob(job *workload, runs time.Duration) {
	r.engine.In(5*time.Second, func() {
		ran := 0
		for _, pod := range apiserver.List[corev1.Pod](r.store, apiserver.Pods) {
			started := pod.Status.StartTime
			if pod.Labels["app"] == job.name && podReady(pod) && started != nil && time.Since(started.Time) >= runs {
				ran++
			}
		}
		if ran < job.count {
			r.endJob(job, runs)
			return
		}
		job.count = 0
		r.replicate()
		r.workloads = slices.DeleteFunc(r.workloads, func(l *workload) bool { return l == job })
	})
}

// gatherInVain lets some seeds have a gang of which EC2 never has room for more than a half.
func (r *Run) gatherInVain() {
	e := r.engine
	if !e.Chance(0.2, vainGang) {
		return
	}
	r.ec2.Starve(ec2.Starvation{InstanceType: rareType, Zone: "*", CapacityType: "*"})
	e.In(e.Between(0, 3*time.Minute, vainGang, "begins"), func() {
		r.makeGang(&workload{
			name: vainGang, count: 2 * e.Number(1, 3, vainGang, "pods"), cpu: int64(e.Number(4, 7, vainGang, "cpu")) * 500,
			memory: 512, grace: 1, gang: true, instanceType: rareType,
		})
	})
}

// startLate lets some seeds have one more workload and its pool a while after the last fault. The pods
// prefer a domain each, so that provision launches more nodes than they fill. No jobs come beside it.
func (r *Run) startLate() {
	e := r.engine
	if !e.Chance(0.4, lateName) || r.hasCron() {
		return
	}
	e.In(time.Until(r.weather.ends)+e.Between(time.Minute, 5*time.Minute, lateName, "begins"), func() {
		// Of nodes that join at different times, the first one gets the pods of all.
		r.weather.boot(30*time.Second, 30*time.Second)
		r.weather.mostReady = time.Second
		pool := r.pool(lateName, map[string]any{api.CapacityTypeLabelKey: []any{api.CapacityTypeOnDemand}})
		spec, _ := pool["spec"].(map[string]any)
		template, _ := spec["template"].(map[string]any)
		template["metadata"] = map[string]any{"labels": map[string]any{lateLabel: lateName}}
		of, _ := template["spec"].(map[string]any)
		of["expireAfter"] = "Never"
		of["taints"] = []any{map[string]any{"key": lateLabel, "effect": "NoSchedule"}}
		if _, err := r.store.Create(apiserver.NodePools, pool); err != nil {
			r.violate("the pool of a workload cannot be made: %v", err)
			return
		}
		late := &workload{
			name: lateName, count: e.Number(2, 6, lateName, "pods"), cpu: int64(e.Number(1, 6, lateName, "cpu")) * 100,
			memory: 256, grace: 1, prefers: preferred(e.Number(0, 1, lateName, "prefers")),
		}
		r.trace("workload %s: %d pods of %dm cores that prefer a %s each", late.name, late.count, late.cpu, late.prefers)
		r.workloads = append(r.workloads, late)
		r.replicate()
	})
}

// preferred is the label of the domains over which a workload may prefer to spread.
func preferred(n int) string { return []string{corev1.LabelHostname, corev1.LabelTopologyZone}[n] }

// uncounted reports whether nothing computes the disruption budget of this name: its pods have an
// owner without a scale, for example.
func (r *Run) uncounted(budget string) bool {
	return slices.ContainsFunc(r.workloads, func(l *workload) bool { return l.name == budget && l.uncount })
}
