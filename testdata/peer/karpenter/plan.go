package karpenter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	provisioning "sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	karpenterscheduling "sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
)

// Input is a snapshot as Karpenter holds it in memory when a pass of its provisioner begins.
// Planning changes it: each plan takes a new one.
type Input struct {
	kubeClient    client.Client
	cluster       *state.Cluster
	nodePools     []*karpenterv1.NodePool
	instanceTypes map[string][]*cloudprovider.InstanceType
	pods          []*corev1.Pod
	volumes       map[types.UID][]karpenterscheduling.Requirements
	daemonPods    []*corev1.Pod
	settings      *options.Options
	scheduler     []provisioning.Options
	ignored       map[string]string
}

// NewInput converts a snapshot. Workers is how many goroutines Karpenter's scheduler tries nodes
// with; its chart sets one for each CPU that the controller requests. The error names the object
// that cannot be converted.
func NewInput(ctx context.Context, s *plan.Snapshot, workers int) (*Input, error) {
	in, err := newInput(s, workers)
	if err != nil {
		return nil, err
	}
	in.kubeClient = newClient(s)
	ctx = in.context(ctx)
	if in.cluster, err = newCluster(ctx, in.kubeClient, s); err != nil {
		return nil, err
	}
	in.addPods(ctx, s.Pods)
	return in, nil
}

// newInput is an input that has no cluster yet, nor pods.
func newInput(s *plan.Snapshot, workers int) (*Input, error) {
	in := &Input{
		instanceTypes: map[string][]*cloudprovider.InstanceType{},
		volumes:       map[types.UID][]karpenterscheduling.Requirements{},
		daemonPods:    daemonSetPods(s.DaemonSets), ignored: map[string]string{},
		settings: &options.Options{
			PreferencePolicy: options.PreferencePolicyRespect, MinValuesPolicy: options.MinValuesPolicyStrict,
			IgnoreDRARequests: true,
			FeatureGates:      options.FeatureGates{ReservedCapacity: true},
		},
		scheduler: []provisioning.Options{
			provisioning.DisableReservedCapacityFallback,
			provisioning.NumConcurrentReconciles(workers),
		},
	}
	if s.PreferencePolicy == plan.PreferencesIgnored {
		in.settings.PreferencePolicy = options.PreferencePolicyIgnore
		in.scheduler = append(in.scheduler, provisioning.IgnorePreferences)
	}
	if s.MinValuesPolicy == plan.MinValuesBestEffort {
		in.settings.MinValuesPolicy = options.MinValuesPolicyBestEffort
	}
	in.scheduler = append(in.scheduler, provisioning.MinValuesPolicy(in.settings.MinValuesPolicy))
	var err error
	if in.nodePools, err = nodePools(s.NodePools); err != nil {
		return nil, err
	}
	in.addInstanceTypes(s)
	return in, nil
}

// addInstanceTypes converts each list once: pools that share one share it here too, as pools of one
// node class do with Karpenter.
func (in *Input) addInstanceTypes(s *plan.Snapshot) {
	converted := map[*catalog.InstanceType][]*cloudprovider.InstanceType{}
	for _, pool := range in.nodePools {
		list := s.InstanceTypes[pool.Name]
		if len(list) == 0 {
			continue
		}
		if converted[&list[0]] == nil {
			converted[&list[0]] = InstanceTypes(list)
		}
		in.instanceTypes[pool.Name] = converted[&list[0]]
	}
}

// addPods takes the pods that Karpenter's provisioner would give to its scheduler; those whose
// volumes cannot be had it ignores.
func (in *Input) addPods(ctx context.Context, pods []corev1.Pod) {
	topology := provisioning.NewVolumeTopology(in.kubeClient)
	for i := range pods {
		pod := pods[i].DeepCopy()
		if err := topology.ValidatePersistentVolumeClaims(ctx, pod); err != nil {
			in.ignored[podName(pod)] = err.Error()
			continue
		}
		alternatives, err := topology.GetRequirements(ctx, pod)
		if err != nil {
			in.ignored[podName(pod)] = err.Error()
			continue
		}
		if len(alternatives) > 0 {
			in.volumes[pod.UID] = alternatives
		}
		in.pods = append(in.pods, pod)
	}
}

// context carries what Karpenter looks for in one: its settings and a logger, here a silent one.
func (in *Input) context(ctx context.Context) context.Context {
	ctx = log.IntoContext(ctx, logr.Discard())
	return options.ToContext(injection.WithControllerName(ctx, "provisioner"), in.settings)
}

// Plan is what Karpenter would do with a snapshot.
type Plan struct {
	// NodeClaims are the nodes that it would launch.
	NodeClaims []NodeClaim
	// Placed counts the pods with a place, on these nodes or on existing ones.
	Placed int
	// LeftOut has Karpenter's reason for each pod without a place that it looked at, by
	// namespace/name.
	LeftOut map[string]string
	// TimedOut says that the time limit ended the search: the rest of the pods have been left for a
	// later pass.
	TimedOut bool
}

// NodeClaim is a node that Karpenter would launch.
type NodeClaim struct {
	NodePool string
	Pods     []string
	// InstanceType, Zone and CapacityType are those of the cheapest available offering that the claim
	// allows.
	InstanceType, Zone, CapacityType string
	// PricePerHour is that offering's, in US dollars.
	PricePerHour float64
}

// PricePerHour is the sum over the new nodes in US dollars.
func (p *Plan) PricePerHour() float64 {
	var sum float64
	for i := range p.NodeClaims {
		sum += p.NodeClaims[i].PricePerHour
	}
	return sum
}

// Solve does a pass's planning: Karpenter counts topologies, prepares its scheduler and lets it
// run, for at most the time limit. Results comes out raw so that turning it into a Plan is not part
// of what a caller measures.
func (in *Input) Solve(ctx context.Context, limit time.Duration) (*Results, error) {
	ctx = in.context(ctx)
	nodes := in.cluster.DeepCopyNodes().Active()
	topology, err := provisioning.NewTopology(
		ctx,
		in.kubeClient,
		in.cluster,
		nodes,
		in.nodePools,
		in.instanceTypes,
		in.pods,
		in.scheduler...)
	if err != nil {
		return nil, fmt.Errorf("counting topologies: %w", err)
	}
	scheduler := provisioning.NewScheduler(
		ctx,
		in.kubeClient,
		in.nodePools,
		in.cluster,
		nodes,
		topology,
		in.instanceTypes,
		in.daemonPods,
		silent{},
		clock.RealClock{},
		in.volumes,
		nil,
		in.scheduler...)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	results, err := scheduler.Solve(limited, in.pods)
	timedOut := errors.Is(err, context.DeadlineExceeded)
	if err != nil && !timedOut {
		return nil, fmt.Errorf("solving: %w", err)
	}
	return &Results{results: results, input: in, timedOut: timedOut}, nil
}

// Results is what Karpenter's scheduler has come to.
type Results struct {
	results  provisioning.Results
	input    *Input
	timedOut bool
}

// Plan sums the results up. The error names a claim for which no offering is left.
func (r *Results) Plan(ctx context.Context) (*Plan, error) {
	p := &Plan{LeftOut: map[string]string{}, TimedOut: r.timedOut}
	for name, reason := range r.input.ignored {
		p.LeftOut[name] = reason
	}
	results := r.results.TruncateInstanceTypes(r.input.context(ctx), provisioning.MaxInstanceTypes)
	for pod, err := range results.PodErrors {
		p.LeftOut[podName(pod)] = err.Error()
	}
	for _, node := range results.ExistingNodes {
		p.Placed += len(node.Pods)
	}
	for _, claim := range results.NewNodeClaims {
		p.Placed += len(claim.Pods)
		priced, err := price(claim)
		if err != nil {
			return nil, err
		}
		p.NodeClaims = append(p.NodeClaims, priced)
	}
	return p, nil
}

// price finds the cheapest available offering that the claim's requirements leave.
func price(claim *provisioning.NodeClaim) (NodeClaim, error) {
	result := NodeClaim{NodePool: claim.NodePoolName, PricePerHour: math.Inf(1)}
	for _, pod := range claim.Pods {
		result.Pods = append(result.Pods, podName(pod))
	}
	for _, t := range claim.InstanceTypeOptions {
		for _, o := range t.Offerings.Available().Compatible(claim.Requirements) {
			if o.Price < result.PricePerHour || o.Price == result.PricePerHour && t.Name < result.InstanceType {
				result.InstanceType, result.Zone, result.CapacityType, result.PricePerHour = t.Name, o.Zone(), o.CapacityType(),
					o.Price
			}
		}
	}
	if result.InstanceType == "" {
		return NodeClaim{}, fmt.Errorf("a claim of nodepool %q for pods %v has no offering", result.NodePool, result.Pods)
	}
	return result, nil
}

func podName(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

// silent is an event recorder that records nothing.
type silent struct{}

func (silent) Publish(...events.Event) {}
