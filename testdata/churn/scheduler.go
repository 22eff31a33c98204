package churn

import (
	"context"
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	schedulerframework "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// filters and scores are the plugins that decide about pods without volumes, ports and affinity. The scores have
// their default weights.
var (
	filters = []string{"NodeResourcesFit", "TaintToleration", "PodTopologySpread", "NodeUnschedulable"}
	scores  = map[string]int32{
		"NodeResourcesFit": 1, "NodeResourcesBalancedAllocation": 1, "PodTopologySpread": 2, "TaintToleration": 3,
	}
)

// scheduler chooses nodes with the plugins of kube-scheduler.
type scheduler struct {
	framework framework.Framework
	nodes     *nodes
	random    *rand.Rand
}

// newScheduler has a scoring strategy of NodeResourcesFit: LeastAllocated is EKS's and the default.
func newScheduler(ctx context.Context, strategy config.ScoringStrategyType, random *rand.Rand) (*scheduler, error) {
	metrics.Register()
	settings, err := latest.Default()
	if err != nil {
		return nil, err
	}
	profile := settings.Profiles[0]
	for i := range profile.PluginConfig {
		if fit, ok := profile.PluginConfig[i].Args.(*config.NodeResourcesFitArgs); ok {
			fit.ScoringStrategy.Type = strategy
		}
	}
	profile.Plugins = &config.Plugins{
		QueueSort: enabled("PrioritySort"), Bind: enabled("DefaultBinder"), Filter: enabled(filters...),
		PreFilter: enabled("NodeResourcesFit", "PodTopologySpread"),
	}
	for name, weight := range scores {
		profile.Plugins.PreScore.Enabled = append(profile.Plugins.PreScore.Enabled, config.Plugin{Name: name})
		profile.Plugins.Score.Enabled = append(profile.Plugins.Score.Enabled, config.Plugin{Name: name, Weight: weight})
	}
	s := &scheduler{nodes: &nodes{}, random: random}
	client := fake.NewClientset()
	s.framework, err = runtime.NewFramework(ctx, plugins.NewInTreeRegistry(), &profile,
		runtime.WithSnapshotSharedLister(s.nodes), runtime.WithClientSet(client),
		runtime.WithInformerFactory(informers.NewSharedInformerFactory(client, 0)))
	return s, err
}

func enabled(names ...string) config.PluginSet {
	var set config.PluginSet
	for _, name := range names {
		set.Enabled = append(set.Enabled, config.Plugin{Name: name})
	}
	return set
}

// choose returns the name of the node with the highest score; empty where the pod fits nowhere. Chance decides
// between equal scores.
func (s *scheduler) choose(ctx context.Context, pod *corev1.Pod) (string, error) {
	state := framework.NewCycleState()
	if _, status, _ := s.framework.RunPreFilterPlugins(ctx, state, pod); !status.IsSuccess() && !status.IsSkip() {
		return "", status.AsError()
	}
	var fitting []schedulerframework.NodeInfo
	all, _ := s.nodes.List()
	for _, node := range all {
		if s.framework.RunFilterPlugins(ctx, state, pod, node).IsSuccess() {
			fitting = append(fitting, node)
		}
	}
	if len(fitting) == 0 {
		return "", nil
	}
	if status := s.framework.RunPreScorePlugins(ctx, state, pod, fitting); !status.IsSuccess() {
		return "", status.AsError()
	}
	scored, status := s.framework.RunScorePlugins(ctx, state, pod, fitting)
	if !status.IsSuccess() {
		return "", status.AsError()
	}
	best, equal := scored[0], 1
	for _, one := range scored[1:] {
		switch {
		case one.TotalScore > best.TotalScore:
			best, equal = one, 1
		case one.TotalScore == best.TotalScore:
			if equal++; s.random.IntN(equal) == 0 {
				best = one
			}
		}
	}
	return best.Name, nil
}

// nodes are what the plugins see of the cluster.
type nodes struct {
	list []*node
}

func (n *nodes) NodeInfos() schedulerframework.NodeInfoLister { return n }

func (n *nodes) StorageInfos() schedulerframework.StorageInfoLister { return n }

func (n *nodes) PodGroupStates() schedulerframework.PodGroupStateLister { return nil }

func (n *nodes) IsPVCUsedByPods(string) bool { return false }

func (n *nodes) List() ([]schedulerframework.NodeInfo, error) {
	var all []schedulerframework.NodeInfo
	for _, node := range n.list {
		all = append(all, node.info)
	}
	return all, nil
}

func (n *nodes) HavePodsWithAffinityList() ([]schedulerframework.NodeInfo, error) { return nil, nil }

func (n *nodes) HavePodsWithRequiredAntiAffinityList() ([]schedulerframework.NodeInfo, error) {
	return nil, nil
}

func (n *nodes) Get(name string) (schedulerframework.NodeInfo, error) {
	for _, node := range n.list {
		if node.Node.Node.Name == name {
			return node.info, nil
		}
	}
	return nil, fmt.Errorf("no node %q", name)
}
