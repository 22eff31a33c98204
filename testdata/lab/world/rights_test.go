package world_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/whittle-dev/whittle/functions/install/manifests"
	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/kubernetes"
)

// resolvers are the functions that resolve classes with the same code. The first of them to run
// does the work, and the other one finds it done.
func resolvers() []string { return []string{"provision", "lifecycle"} }

// resolving reports whether a statement belongs to that code.
func resolving(sid string) bool {
	return slices.Contains([]string{
		"Describe", "ImageParameters", "PassNodeRole", "CreateProfile", "UseProfile", "ReadProfiles",
	}, sid)
}

// unused lists the rights in AWS that no scenario needs, with a reason each. The keys are function,
// statement and action.
func unused() map[string]string {
	const unusedProfile = "writes down since when nothing has used a profile: of two sweeps, half an hour apart"
	const large = "confirms events that name more than ten nodes, and these worlds have fewer"
	const silent = "logs what goes wrong, and nothing has"
	return map[string]string{
		"provision Describe ec2:DescribeInstances": "finds what an invocation had launched that died before it wrote " +
			"it down",
		"interrupt Describe ec2:DescribeInstanceStatus":       large,
		"interrupt Describe ec2:DescribeCapacityReservations": large,
		"provision Fleets ec2:DescribeFleets":                 "finds it where EC2's answer to the repeated launch names the fleet only",
		"lifecycle TagProfile iam:TagInstanceProfile":         unusedProfile,
		"install Undelivered sqs:DeleteMessage":               "takes test events that EventBridge could not deliver: here it can",
		"ticker Log logs:CreateLogStream":                     silent,
		"ticker Log logs:PutLogEvents":                        silent,
		"watch StartWatch lambda:InvokeFunction":              "hands over after 14 minutes, which no world lasts",
		"lifecycle StartWatch lambda:InvokeFunction":          "provision finds most work before, and has started the watch",
		"console Log logs:CreateLogStream":                    silent,
		"console Log logs:PutLogEvents":                       silent,
		"provision TagProfile iam:TagInstanceProfile": "IAM asks for it to make a profile with tags; the local AWS asks " +
			"for the making alone",
	}
}

// everyRightWasUsed compares the deployed roles with the rights that the local AWS checked in all
// scenarios of all worlds.
func everyRightWasUsed(t *testing.T, stages []stage) {
	functions := []string{"ticker", "provision", "interrupt", "lifecycle", "disrupt", "watch", "catalog", "install", "console"}
	rights, used, resolved := map[string][]identity.Right{}, map[string]bool{}, map[identity.Right]bool{}
	for _, function := range functions {
		for _, s := range stages {
			found, err := s.Rights(function)
			if err != nil || len(found) == 0 {
				t.Fatalf("%s has the rights %v, %v", function, found, err)
			}
			rights[function] = found
			for _, right := range found {
				if !right.Used {
					continue
				}
				used[function+" "+right.Sid+" "+right.Action] = true
				if slices.Contains(resolvers(), function) && resolving(right.Sid) {
					resolved[right] = true
				}
			}
		}
	}
	excused := unused()
	for _, function := range functions {
		for _, right := range rights[function] {
			key := function + " " + right.Sid + " " + right.Action
			why := excused[key]
			delete(excused, key)
			byOther := slices.Contains(resolvers(), function) &&
				resolved[identity.Right{Sid: right.Sid, Action: right.Action, Used: true}]
			if !used[key] && !byOther && why == "" {
				t.Errorf("%s: granted, and never used", key)
			}
		}
	}
	for key := range excused {
		t.Errorf("%s is excused, and not granted", key)
	}
}

// unasked lists the rights in the cluster that no scenario needs, with a reason each.
func unasked() map[string]string {
	const planned = "disrupt plans by provision's code, which reads it for pods with volumes or constraints by namespace"
	const short = "marks offerings that EC2 is short of, which has room for all in these scenarios"
	const buffers = "belongs to the setting capacityBuffers, which is off here: tests of provision and disrupt have it"
	const requests = "belongs to the setting provisioningRequests, which is off here: tests of provision and disrupt have it"
	const spread = "follows the setting defaultTopologySpread, which is off here: package sight tries it"
	const resized = "reads the template of a pod that was resized in place, and none is here: package sight tries it"
	return map[string]string{
		"provision get replicasets apps":        resized,
		"provision get statefulsets apps":       resized,
		"provision get jobs batch":              resized,
		"disrupt get replicasets apps":          resized,
		"disrupt get statefulsets apps":         resized,
		"disrupt get jobs batch":                resized,
		"provision list services":               spread,
		"provision list replicationcontrollers": spread,
		"provision list replicasets apps":       spread,
		"provision list statefulsets apps":      spread,
		"provision list podgroups scheduling.x-k8s.io": "follows a waiting pod that names a PodGroup, whose kind this cluster " +
			"lacks: a test of provision has it",
		"disrupt list services":                                                               spread,
		"disrupt list replicationcontrollers":                                                 spread,
		"disrupt list replicasets apps":                                                       spread,
		"disrupt list statefulsets apps":                                                      spread,
		"disrupt list namespaces":                                                             planned,
		"disrupt list persistentvolumes":                                                      planned,
		"disrupt list persistentvolumeclaims":                                                 planned,
		"disrupt list storageclasses storage.k8s.io":                                          planned,
		"disrupt list csinodes storage.k8s.io":                                                planned,
		"disrupt create configmaps":                                                           short,
		"disrupt update configmaps":                                                           short,
		"provision create configmaps":                                                         short,
		"provision update configmaps":                                                         short,
		"interrupt create configmaps":                                                         short,
		"interrupt update configmaps":                                                         short,
		"capacity-buffers list capacitybuffers autoscaling.x-k8s.io":                          buffers,
		"capacity-buffers get podtemplates":                                                   buffers,
		"capacity-buffers list resourcequotas":                                                buffers,
		"capacity-buffers get deployments apps":                                               buffers,
		"capacity-buffers get statefulsets apps":                                              buffers,
		"capacity-buffers get replicasets apps":                                               buffers,
		"capacity-buffers-status patch capacitybuffers/status autoscaling.x-k8s.io":           buffers,
		"provisioning-requests list provisioningrequests autoscaling.x-k8s.io":                requests,
		"provisioning-requests get podtemplates":                                              requests,
		"provisioning-requests list resourcequotas":                                           requests,
		"provisioning-requests-status patch provisioningrequests/status autoscaling.x-k8s.io": requests,
		"pod-deletion-cost patch pods":                                                        "belongs to disrupt where podDeletionCost is on, and it is off here",
		"interrupt list pods":                                                                 "checks who holds Karpenter's Lease, and no Karpenter runs",
		"lifecycle list leases coordination.k8s.io":                                           "finds the leases that the next line ends",
		"lifecycle delete leases coordination.k8s.io": "sweeps the leases of nodes that have been gone for longer than " +
			"these scenarios last",
		"lifecycle patch pods/status": "nominates pods that are not bound: whether these scenarios have one depends on time",
		"lifecycle delete pods":       "ends pods that outstay their node's terminationGracePeriod",
		"lifecycle get persistentvolumeclaims": "finds the volumes of pods that stay on a draining node, where a " +
			"driver has attached some",
		"lifecycle delete nodeclaims karpenter.sh": "ends nodes that expire, or never register, and claims whose instance " +
			"is gone",
		"provision delete nodeclaims karpenter.sh": "gives claims up for which EC2 has no room, and shrinks pools with " +
			"spec.replicas",
	}
}

// breadth is what the requests of one verb on one kind named, over all worlds.
type breadth struct {
	worlds     int
	names      map[string]int // how many worlds have it
	namespaces map[string]bool
}

// within is the key of what a Role of the namespace allows, and of what a ClusterRole does where it is empty.
func within(key, namespace string) string { return key + " in " + namespace }

// count adds a request of a world, whose keys and names so far are here.
func count(all map[string]*breadth, here map[string]map[string]bool, key string, request kubernetes.Request) {
	if all[key] == nil {
		all[key] = &breadth{names: map[string]int{}, namespaces: map[string]bool{}}
	}
	if here[key] == nil {
		here[key] = map[string]bool{}
		all[key].worlds++
	}
	if !here[key][request.Name] {
		all[key].names[request.Name]++
	}
	here[key][request.Name] = true
	all[key].namespaces[request.Namespace] = true
}

// asked gathers the requests of all worlds, by group, verb and kind, for all namespaces and for each.
func asked(t *testing.T, stages []stage) map[string]*breadth {
	t.Helper()
	all := map[string]*breadth{}
	for _, s := range stages {
		requests, err := s.Requests()
		if err != nil || len(requests) == 0 {
			t.Fatalf("%d requests, %v", len(requests), err)
		}
		here := map[string]map[string]bool{}
		for _, request := range requests {
			if request.Status == http.StatusForbidden {
				t.Errorf("not allowed: %s %s %s %s by %v", request.Verb, request.Resource, request.APIGroup, request.Name,
					request.Groups)
			}
			for _, group := range request.Groups {
				count(all, here, key(group, request), request)
				count(all, here, within(key(group, request), request.Namespace), request)
			}
		}
	}
	return all
}

// fixed reports whether each world named the same objects, so that the right can name them too.
func (b *breadth) fixed() bool {
	for _, worlds := range b.names {
		if worlds < b.worlds {
			return false
		}
	}
	return b.worlds > 1 && b.names[""] == 0
}

// narrower says how a rule could be narrower than it is; nothing where its breadth was needed.
func (b *breadth) narrower(namespace, verb string, rule *rbacv1.PolicyRule, excused bool) (could []string) {
	for _, name := range rule.ResourceNames {
		if b.names[name] == 0 && chance()[name] == "" {
			could = append(could, "granted on "+name+", and never used on it")
		}
	}
	// A request to create names nothing that a rule could name.
	if verb != "create" && len(rule.ResourceNames) == 0 && b.fixed() {
		names := slices.Sorted(maps.Keys(b.names))
		could = append(could, fmt.Sprintf("granted on every name, and used on %v in each world", names))
	}
	if namespace == "" && len(b.namespaces) == 1 && !b.namespaces[""] && !excused {
		namespaces := slices.Sorted(maps.Keys(b.namespaces))
		could = append(could, fmt.Sprintf("granted in every namespace, and used in %v", namespaces))
	}
	return could
}

// chance lists the objects that a world may do without, with a reason each.
func chance() map[string]string {
	const short = "follows a shortage or a pod that fits nowhere: whether these worlds have one depends on time"
	return map[string]string{
		"whittle-kubelet-values":        "belongs to classes with expressions: a test of lifecycle has it",
		"whittle-capacity-reservations": "belongs to capacity reservations: tests of the packages have it",
		"whittle-misfits":               short,
		"whittle-releases":              "follows a drift: tests of disrupt have it",
		"whittle-unavailable-offerings": short,
	}
}

// wide lists the rights in every namespace that no scenario needs there, with a reason each.
func wide() map[string]string {
	const where = "writes events where their objects are, and pods are in every namespace"
	return map[string]string{
		"lifecycle get persistentvolumeclaims": "pods of every namespace mount volumes; whether one is bound to a node " +
			"that joins depends on time",
		"provision create events":        where,
		"disrupt create events":          where,
		"lifecycle create events":        where,
		"lifecycle create pods/eviction": "drains pods of every namespace",
		"lifecycle patch pods/status":    "nominates pods of every namespace",
		"binding create pods/binding":    "binds pods of every namespace",
	}
}

// everyVerbWasUsed compares the functions' roles with the API server's audit log.
func everyVerbWasUsed(t *testing.T, stages []stage) {
	used := asked(t, stages)
	excused, everywhere := unasked(), wide()
	needless := unasked()
	maps.Copy(needless, everywhere)
	for _, role := range functionRoles(t) {
		for i := range role.Rules {
			rule := &role.Rules[i]
			for _, request := range requestsOf(rule) {
				key := key(role.Name, request)
				by := used[key]
				if role.Namespace != "" {
					by = used[within(key, role.Namespace)]
				}
				delete(needless, key)
				if by == nil {
					if excused[key] == "" {
						t.Errorf("%s: granted, and never used", key)
					}
					continue
				}
				for _, could := range by.narrower(role.Namespace, request.Verb, rule, everywhere[key] != "") {
					t.Errorf("%s: %s", key, could)
				}
			}
		}
	}
	for key := range needless {
		t.Errorf("%s is excused, and not granted", key)
	}
}

// functionRoles are the roles and cluster roles of functions: not those for people.
func functionRoles(t *testing.T) []rbacv1.ClusterRole {
	t.Helper()
	objects, err := manifests.RBAC()
	if err != nil {
		t.Fatal(err)
	}
	var roles []rbacv1.ClusterRole
	for _, object := range objects {
		// No function has the roles for people, or those that namespaces may grant.
		others := []string{"whittle:view", "whittle:planner", "whittle:admin", "whittle:restart"}
		if kind := object.GetKind(); kind != "Role" && kind != "ClusterRole" || slices.Contains(others, object.GetName()) {
			continue
		}
		var role rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
			t.Fatal(err)
		}
		roles = append(roles, role)
	}
	return roles
}

// requestsOf lists the verbs on kinds that a rule allows.
func requestsOf(rule *rbacv1.PolicyRule) []kubernetes.Request {
	var requests []kubernetes.Request
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				requests = append(requests, kubernetes.Request{Verb: verb, APIGroup: group, Resource: resource})
			}
		}
	}
	return requests
}

func key(role string, request kubernetes.Request) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", strings.TrimPrefix(role, "whittle:"), request.Verb,
		request.Resource, request.APIGroup))
}
