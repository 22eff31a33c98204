//go:build browser

package dashboard_test

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/functions/console/timeline"
	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/nodestate"
	"github.com/whittle-dev/whittle/shared/status"
)

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// clusters are the test's clusters; nil stands for one that cannot be read.
func clusters() map[string]*view.View {
	return map[string]*view.View{
		"busy": busy(14), "large": busy(320), "long": long(), "empty": empty(), "broken": broken(), "unreachable": nil,
	}
}

var errUnreachable = errors.New(
	`reading /apis/karpenter.sh/v1/nodepools: nodepools.karpenter.sh is forbidden: User ` +
		`"arn:aws:sts::123456789012:assumed-role/Whittle-prodConsoleRole/whittle-prod-console" cannot list resource ` +
		`"nodepools" in API group "karpenter.sh" at the cluster scope`)

// kind of node, as it is repeated in a busy cluster.
type kind struct {
	pool, instanceType, capacityType, zone string
	price, onDemand                        float64
	cpu, requestedCPU, memory, requested   string
	pods                                   int
}

func kinds() []kind {
	return []kind{
		{"default", "c7g.2xlarge", "spot", "us-east-1a", 0.0971, 0.2900, "7910m", "7650m", "14100Mi", "9216Mi", 27},
		{"default", "m7i-flex.4xlarge", "spot", "us-east-1b", 0.2871, 0.7661, "15890m", "15200m", "58Gi", "41Gi", 44},
		{"default", "c7i-flex.large", "on-demand", "us-east-1c", 0.0848, 0.0848, "1930m", "1400m", "3200Mi", "2900Mi", 11},
		{"memory", "r7g.8xlarge", "spot", "us-east-1a", 0.6120, 1.7136, "31850m", "12750m", "239Gi", "231Gi", 8},
		{"gpu", "g6.12xlarge", "reserved", "us-east-1b", 4.6016, 4.6016, "47810m", "24000m", "180Gi", "96Gi", 4},
	}
}

// extras are what each node costs beside its instance, in $/h: a volume and an address.
const extras = 0.0072

// day is a day with a busy afternoon and a night without ticks.
func day() []status.Sample {
	var samples []status.Sample
	for quarter := range 96 {
		if quarter > 50 && quarter < 58 {
			continue
		}
		nodes, waited := 6+(quarter*7)%5, float64(quarter%4)*9
		if quarter > 12 && quarter < 44 {
			nodes, waited = nodes+12, waited*6
		}
		price := 0.31 * float64(nodes)
		samples = append(samples, status.Sample{
			Start: now.Add(-24*time.Hour + time.Duration(quarter)*status.SampleEvery),
			Nodes: &nodes, PricePerHour: &price, PendingSeconds: &waited,
		})
	}
	return samples
}

// busy is a working cluster with a number of nodes.
func busy(nodes int) *view.View {
	shown := &view.View{
		Time: now,
		Catalog: &view.Catalog{
			Time: now.Add(-23 * time.Minute), SpotPriceTime: now.Add(-23 * time.Minute), InstanceTypes: 884,
		},
	}
	all := kinds()
	for i := range nodes {
		of := all[i%len(all)]
		node := view.Node{
			NodeClaim: fmt.Sprintf("%s-%05x", of.pool, 0x5bd9a+i*7919), NodePool: of.pool,
			Name:       fmt.Sprintf("ip-10-0-%d-%d.ec2.internal", i/200, 4+i%200),
			ProviderID: "aws:///" + of.zone + "/i-1", InstanceType: of.instanceType, CapacityType: of.capacityType,
			Zone:    of.zone,
			Created: now.Add(-time.Duration(i*i+3) * 7 * time.Minute), State: nodestate.Ready,
			PricePerHour: of.price + extras, ExtrasPerHour: extras, OnDemandPerHour: of.onDemand + extras, Pods: of.pods,
			Requested: resources(of.requestedCPU, of.requested), Allocatable: resources(of.cpu, of.memory),
		}
		switch i {
		case 2:
			node.State, node.Reason = nodestate.Registered,
				`StartupTaintsExist: StartupTaint "node.cilium.io/agent-not-ready:NoExecute" still exists`
			node.Created = now.Add(-48 * time.Second)
		case 5:
			node.State, node.Reason = nodestate.Draining, "Draining: 2 pods are waiting to be evicted"
		case 7:
			node.State, node.Reason = nodestate.NotReady, "NodeStatusUnknown: Kubelet stopped posting node status."
		case 8:
			node.State, node.Name, node.Pods, node.Created = nodestate.Launched, "", 0, now.Add(-21*time.Second)
			node.Requested = view.Resources{}
		}
		add(shown, node)
	}
	shown.Nodes = append(shown.Nodes, view.Node{
		NodeClaim: "memory-8kq2x", NodePool: "memory", Created: now.Add(-2 * time.Second), State: nodestate.Launching,
	}, view.Node{
		Name: "ip-10-0-9-9.ec2.internal", InstanceType: "m7g.large", Zone: "us-east-1c",
		Created: now.Add(-59 * 24 * time.Hour), State: nodestate.Ready, Pods: 12,
		Requested: resources("1100m", "2Gi"), Allocatable: resources("1930m", "7Gi"),
	})
	shown.NodePools = []view.NodePool{
		{Name: "default", NodeClass: "default", Ready: true, Limits: limits("cpu", "1000", "memory", "4000Gi")},
		{Name: "gpu", NodeClass: "gpu", Ready: true, Limits: limits("nvidia.com/gpu", "16")},
		{Name: "memory", NodeClass: "default", Ready: true},
	}
	sum(shown)
	shown.Waiting = append(shown.Waiting, view.Pod{
		Namespace: "ml", Name: "trainer-0", Created: now.Add(-14 * time.Minute), Source: "whittle",
		Message: `nodepool "default": requests nvidia.com/gpu 8, no instance type that the requirements allow has more ` +
			`than 0; nodepool "gpu": nvidia.com/gpu 8 beside the 12 in use is over the limit of 16: raise spec.limits`,
	})
	for i := range 9 {
		shown.Waiting = append(shown.Waiting,
			view.Pod{
				Namespace: "batch", Name: fmt.Sprintf("embed-7c9d5b6f4-%05x", 0xa3f10+i*977),
				Created: now.Add(-time.Duration(52-i) * time.Second), Source: "whittle",
				Message: "Pod should schedule on: nodeclaim/default-7b1f3",
			})
	}
	shown.Day = day()
	shown.Past = timeline.Of(happened(), now)
	shown.Past.Source = "From the functions' logs of 11:57:12 UTC. Reading them took 84.2 MB and $0.0004, at most " +
		"once in " +
		"5 minutes."
	shown.Plan = &status.Plan{
		Time: now.Add(-50 * time.Second), Pods: 31, Existing: 6, Unplaced: 1, PricePerHour: 0.8862, LowerBoundPerHour: 0.7941,
		Nodes: []status.Nodes{
			{
				NodePool: "memory", InstanceType: "r7g.8xlarge", CapacityType: "spot", Zone: "us-east-1a", Count: 1, Pods: 8,
				PricePerHour: 0.6120,
			},
			{
				NodePool: "default", InstanceType: "c7g.2xlarge", CapacityType: "spot", Zone: "us-east-1a", Count: 2, Pods: 14,
				PricePerHour: 0.1942,
			},
			{
				NodePool: "default", InstanceType: "c7i-flex.large", CapacityType: "on-demand", Zone: "us-east-1c", Count: 1,
				Pods: 2, PricePerHour: 0.0848,
			},
		},
	}
	return shown
}

// happened are the lines of a day with a busy afternoon, a storm of interruptions and failures at night.
func happened() []timeline.Line {
	var lines []timeline.Line
	add := func(quarter, count int, message, level, claim, why string) {
		lines = append(lines, timeline.Line{
			Start: now.Add(-24*time.Hour + time.Duration(quarter)*timeline.Every), Message: message, Level: level, Count: count,
			Claim: claim, Why: why,
		})
	}
	for quarter := range 96 {
		if quarter > 12 && quarter < 44 || quarter%9 == 0 {
			add(quarter, 1+quarter*7%5, "launched nodeclaim", "INFO", fmt.Sprintf("default-%05x", quarter*7919), "")
		}
		if quarter%11 == 3 {
			add(quarter, 1, "disrupting node(s)", "INFO", fmt.Sprintf("memory-%05x", quarter*977), "underutilized")
		}
		if quarter > 40 && quarter < 56 {
			add(quarter, 2, "deleted nodeclaim", "INFO", fmt.Sprintf("default-%05x", quarter*7919), "")
		}
	}
	add(71, 6, "initiating delete from interruption message", "INFO", "default-5bd9a", "SpotInterrupted")
	add(72, 6, "deleted nodeclaim", "INFO", "default-5bd9a", "")
	add(94, 2, "failed launching nodeclaim", "WARN", "gpu-1c2f0", "InsufficientInstanceCapacity")
	add(95, 1, "the invocation failed", "ERROR", "",
		`listing pods: Get "https://0123.gr7.us-east-1.eks.amazonaws.com/api/v1/pods"`+
			": context deadline exceeded")
	return lines
}

// long has names and reasons of Kubernetes' maximum length, with characters that must be escaped.
func long() *view.View {
	shown := busy(6)
	name := strings.Repeat("a-very-long-name-", 14) + "of-a-team"
	shown.NodePools[0].Name, shown.NodePools[0].NodeClass = name, name
	shown.NodePools[0].Limits = limits("cpu", "100000", "memory", "4000000Gi", "nodes", "10000", "nvidia.com/gpu", "160",
		"ephemeral-storage", "1000Ti")
	for i := range shown.Nodes {
		shown.Nodes[i].NodePool = name
		shown.Nodes[i].NodeClaim = name + "-" + shown.Nodes[i].NodeClaim
		shown.Nodes[i].Name = "i-0123456789abcdef" + fmt.Sprint(i) + ".some-long-region-name.compute.internal"
		shown.Nodes[i].InstanceType = "u7inh-32tb.480xlarge"
	}
	shown.Nodes[1].State, shown.Nodes[1].Reason = nodestate.NotReady,
		strings.Repeat("KubeletNotReady: container runtime network not ready ", 12)
	shown.Past = timeline.Of([]timeline.Line{{
		Start: now.Add(-time.Hour), Message: "launched nodeclaim", Count: 98765, Claim: shown.Nodes[0].NodeClaim,
		Why: strings.Repeat("unbroken", 60),
	}}, now)
	shown.Waiting = nil
	for i := range 30 {
		shown.Waiting = append(shown.Waiting, view.Pod{
			Namespace: strings.Repeat("namespace-", 6), Name: fmt.Sprintf("%s%d", strings.Repeat("workload-", 20), i),
			Created: now.Add(-time.Hour), Source: "a-scheduler-of-our-own",
			Message: fmt.Sprintf("%d: ", i) + strings.Repeat(`nodepool "general-purpose": no instance type has it all; `, 16),
		})
	}
	shown.Waiting[0].Message = `<script>document.title = "taken"</script><img src=x onerror="document.title='taken'"> &` +
		` "quoted"`
	shown.Waiting[1].Message = strings.Repeat("unbroken", 120)
	return shown
}

func empty() *view.View { return &view.View{Time: now, Past: timeline.Of(nil, now)} }

// broken has NodePools that open no node, and a catalogue that is old.
func broken() *view.View {
	shown := &view.View{Time: now, Standby: "kube-system/karpenter-6f7c9d-x2x4v",
		Catalog: &view.Catalog{Time: now.Add(-31 * time.Hour), InstanceTypes: 884}, NodePools: []view.NodePool{
			{
				Name: "default", NodeClass: "default",
				Reasons: []string{
					`ValidationSucceeded is false: spec.template.spec.requirements[2].operator: "Near" is no operator: it is In, ` +
						`NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte`,
				},
			},
			{
				Name: "gpu", NodeClass: "gpu",
				Reasons: []string{
					`NodeClassNotReady: EC2NodeClass "gpu" is not ready: SubnetsNotFound: no subnet has the tags ` +
						`karpenter.sh/discovery=prod`,
					"NodeRegistrationHealthy: RegistrationFailed",
				},
			},
			{Name: "new", Reasons: []string{"it has not been looked at yet: lifecycle does so each minute"}},
		}}
	shown.Past = timeline.OfClaims(nil, now)
	shown.Past.Problem = "The logs of the functions are not read, so that only launches of nodes that still exist are " +
		"shown: starting a query: operation error CloudWatch Logs: StartQuery, https response error StatusCode: 400, " +
		"AccessDeniedException"
	shown.Waiting = []view.Pod{
		{
			Namespace: "default", Name: "web-0", Created: now.Add(-9 * time.Minute), Source: "default-scheduler",
			Message: "no nodes available to schedule pods",
		},
		{Namespace: "default", Name: "web-1", Created: now.Add(-2 * time.Second)},
	}
	return shown
}

// add adds a node that has an instance.
func add(shown *view.View, node view.Node) {
	shown.Nodes = append(shown.Nodes, node)
	shown.Instances++
	shown.PricePerHour += node.PricePerHour
	shown.ExtrasPerHour += node.ExtrasPerHour
	shown.Savings.PerHour += node.OnDemandPerHour - node.PricePerHour
	shown.Savings.Fraction = catalog.SavingsAgainst(shown.PricePerHour+shown.Savings.PerHour, shown.PricePerHour).Fraction
}

// sum adds up the pools' nodes.
func sum(shown *view.View) {
	for i := range shown.NodePools {
		pool := &shown.NodePools[i]
		for j := range shown.Nodes {
			if node := &shown.Nodes[j]; node.NodePool == pool.Name {
				pool.Nodes++
				pool.CPU.Add(node.Allocatable.CPU)
				pool.Memory.Add(node.Allocatable.Memory)
				pool.PricePerHour += node.PricePerHour
				pool.ExtrasPerHour += node.ExtrasPerHour
			}
		}
	}
}

func resources(cpu, memory string) view.Resources {
	return view.Resources{CPU: resource.MustParse(cpu), Memory: resource.MustParse(memory)}
}

func limits(pairs ...string) api.Limits {
	list := api.Limits{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}
