package crash

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// state is the cluster and the account at one moment.
type state struct {
	instances   []ec2.Instance // those that have ended too
	claims      []api.NodeClaim
	classes     []api.EC2NodeClass // read for missing alone
	pools       []api.NodePool     // read where nodes have the soft taint
	nodes       []corev1.Node
	pods        []corev1.Pod
	budgets     []policyv1.PodDisruptionBudget
	deployments []appsv1.Deployment
}

// observe reads the state. It skips kinds that no object of the scenario has.
func (t *trial) observe(ctx context.Context) (*state, error) {
	w := t.world
	s := &state{instances: w.account.ec2.Instances()}
	var err error
	if s.claims, err = w.client.NodeClaims(ctx); err != nil {
		return nil, err
	}
	pods, err := w.core.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	s.pods = pods.Items
	for i := range s.claims {
		w.gate.times.note(&s.claims[i])
	}
	for i := range s.pods {
		w.gate.times.note(&s.pods[i])
	}
	return s, t.observeControlled(ctx, s)
}

// observeControlled reads again the objects that Kubernetes' own controllers write.
func (t *trial) observeControlled(ctx context.Context, s *state) error {
	nodes, err := t.world.core.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	s.nodes = nodes.Items
	for i := range s.nodes {
		t.world.gate.times.note(&s.nodes[i])
		if s.pools == nil && disruption.IsCandidate(&s.nodes[i]) {
			if s.pools, err = t.world.client.NodePools(ctx); err != nil {
				return err
			}
		}
	}
	if t.stage.deployed {
		deployments, err := t.world.core.AppsV1().Deployments(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		s.deployments = deployments.Items
	}
	if !t.stage.guarded {
		return nil
	}
	budgets, err := t.world.core.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	s.budgets = budgets.Items
	return nil
}

// instance finds the instance of a provider ID; nil for none.
func (s *state) instance(providerID string) *ec2.Instance {
	for i := range s.instances {
		if s.instances[i].ProviderID() == providerID {
			return &s.instances[i]
		}
	}
	return nil
}

// alive reports whether a kubelet runs on the node.
func (s *state) alive(node *corev1.Node) bool {
	instance := s.instance(node.Spec.ProviderID)
	return instance != nil && instance.State == ec2.Running
}

func (s *state) node(name string) *corev1.Node {
	for i := range s.nodes {
		if s.nodes[i].Name == name {
			return &s.nodes[i]
		}
	}
	return nil
}

// healthy reports whether the pod is ready, is not being deleted, and runs on a machine that runs.
func (s *state) healthy(pod *corev1.Pod) bool {
	node := s.node(pod.Spec.NodeName)
	return pod.DeletionTimestamp == nil && isReady(pod) && node != nil && s.alive(node)
}

// guarded counts the budget's pods for which healthy is true.
func (s *state) guarded(budget *policyv1.PodDisruptionBudget, healthy func(*corev1.Pod) bool) int {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		return 0
	}
	count := 0
	for i := range s.pods {
		if selector.Matches(labels.Set(s.pods[i].Labels)) && healthy(&s.pods[i]) {
			count++
		}
	}
	return count
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
