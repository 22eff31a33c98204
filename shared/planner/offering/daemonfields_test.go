package offering_test

import (
	"reflect"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

const (
	running   = "it acts once the pod runs"
	rollout   = "the controller acts on it, and each node has one pod all the same"
	noBinding = "the controller names the node of each pod, so that this does not decide it"
	admitted  = "admission writes what follows from it into the pods"
)

// TestThePlannerKnowsEachFieldOfADaemonSet holds a table of the fields that daemon sets and their pods have
// against what the planner counts on each node. A field of a later Kubernetes fails the test until somebody
// has decided what it means. A field without a reason changes what is counted.
func TestThePlannerKnowsEachFieldOfADaemonSet(t *testing.T) {
	checkDaemonFields(t, func(set *appsv1.DaemonSet) any { return set }, map[string]string{
		"Spec": "", "Status": rollout, "TypeMeta": "it is that of each DaemonSet",
		"ObjectMeta": "its name finds the running pods, and a set that is being deleted is not read at all",
	})
	checkDaemonFields(t, func(set *appsv1.DaemonSet) any { return &set.Spec.Template }, map[string]string{
		"Spec": "", "ObjectMeta": "the topology reads its labels for constraints between pods",
	})
	checkDaemonFields(t, func(set *appsv1.DaemonSet) any { return &set.Spec }, map[string]string{
		"Template": "", "Selector": rollout, "UpdateStrategy": rollout, "MinReadySeconds": rollout,
		"RevisionHistoryLimit": rollout,
	})
	checkDaemonFields(t, func(set *appsv1.DaemonSet) any { return &set.Spec.Template.Spec }, map[string]string{
		"Containers": "", "InitContainers": "", "NodeSelector": "", "Affinity": "", "Tolerations": "", "Overhead": "",
		"Resources":                 "",
		"Volumes":                   "a pod of each node has volumes of the node, and claims are not counted for it",
		"ResourceClaims":            "dynamic resources of daemon sets are not planned",
		"TopologySpreadConstraints": noBinding, "SchedulingGates": noBinding, "SchedulingGroup": noBinding,
		"NodeName": noBinding, "SchedulerName": noBinding, "Priority": noBinding, "PreemptionPolicy": noBinding,
		"PriorityClassName": admitted, "RuntimeClassName": admitted, "HostNetwork": admitted, "OS": admitted,
		"EphemeralContainers": running, "RestartPolicy": running, "TerminationGracePeriodSeconds": running,
		"ActiveDeadlineSeconds": running, "DNSPolicy": running, "ServiceAccountName": running,
		"DeprecatedServiceAccount": running, "AutomountServiceAccountToken": running, "HostPID": running,
		"HostIPC": running, "ShareProcessNamespace": running, "SecurityContext": running, "ImagePullSecrets": running,
		"Hostname": running, "Subdomain": running, "HostAliases": running, "DNSConfig": running,
		"ReadinessGates": running, "EnableServiceLinks": running, "SetHostnameAsFQDN": running, "HostUsers": running,
		"HostnameOverride": running,
	})
}

// usedByDaemonSets are the fields of DaemonSets that random clusters use.
var usedByDaemonSets = sync.OnceValue(func() map[string]bool {
	return plantest.UsedFields(func(s *plan.Snapshot) any { return s.DaemonSets })
})

// checkDaemonFields changes each field of the type that at returns a pointer to.
func checkDaemonFields(t *testing.T, at func(*appsv1.DaemonSet) any, table map[string]string) {
	t.Helper()
	base := daemonSetWith(corev1.PodSpec{})
	typ := reflect.TypeOf(at(&base)).Elem()
	used := usedByDaemonSets()
	for i := range typ.NumField() {
		name := typ.Field(i).Name
		why, known := table[name]
		if !known {
			t.Errorf("%s.%s is not in the table: does it matter for what a node's daemon pods take?", typ.Name(), name)
			continue
		}
		delete(table, name)
		other := daemonSetWith(corev1.PodSpec{})
		full := daemonSetWith(everyDemand())
		of := reflect.ValueOf(at(&other)).Elem().Field(i)
		if from := reflect.ValueOf(at(&full)).Elem().Field(i); !from.IsZero() {
			of.Set(from)
		} else {
			plantest.GiveValue(of, 1)
		}
		if why == "" && !used[typ.Name()+"."+name] {
			t.Errorf("no random cluster has a DaemonSet that uses %s.%s", typ.Name(), name)
		}
		if changed := !reflect.DeepEqual(countedOf(&base), countedOf(&other)); changed != (why == "") {
			t.Errorf("%s.%s changes what is counted: %t (%s)", typ.Name(), name, changed, why)
		}
	}
	for name := range table {
		t.Errorf("%s has no field %s", typ.Name(), name)
	}
}

func daemonSetWith(spec corev1.PodSpec) appsv1.DaemonSet {
	set := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent"}}
	set.Spec.Template.Spec = spec
	return set
}

// everyDemand has all that decides where a daemon set's pods run, and what they take.
func everyDemand() corev1.PodSpec {
	asks := corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: apiresource.MustParse("1")}}
	return corev1.PodSpec{
		Containers: []corev1.Container{{
			Resources: asks, Ports: []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80}},
		}},
		InitContainers: []corev1.Container{{Resources: asks}}, Resources: &asks, Overhead: asks.Requests,
		NodeSelector: map[string]string{"team": "red"},
		Tolerations:  []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: "team", Operator: corev1.NodeSelectorOpExists},
				}}},
			},
		}},
	}
}

// countedOf is what the planner reads of the daemon set.
func countedOf(set *appsv1.DaemonSet) offering.DaemonSet {
	read := offering.ReadDaemonSets([]appsv1.DaemonSet{*set}, resource.NewAxes(nil))[0]
	return offering.DaemonSet{
		Need: read.Need, Alternatives: read.Alternatives, Starting: read.Starting, Tolerations: read.Tolerations,
		Ports: read.Ports,
	}
}
