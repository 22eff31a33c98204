package launch

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// TestTrialsAreLaunchesThatPoolsAllow holds that EC2 is asked about the cheapest launches of the pools, and
// about different ones.
func TestTrialsAreLaunchesThatPoolsAllow(t *testing.T) {
	typ := func(name, architecture string, spot, onDemand float64) catalog.InstanceType {
		made := catalog.InstanceType{
			Name: name,
			Requirements: scheduling.NewRequirements(
				scheduling.In(corev1.LabelInstanceTypeStable, name), scheduling.In(corev1.LabelArchStable, architecture),
				scheduling.In(api.CapacityTypeLabelKey, "spot", "on-demand", "reserved"),
				scheduling.In(corev1.LabelTopologyZone, "a", "b"),
			),
		}
		for capacityType, price := range map[string]float64{"spot": spot, "on-demand": onDemand} {
			if price > 0 {
				made.Offerings = append(made.Offerings, catalog.Offering{
					CapacityType: capacityType, Zone: "a", Price: price, Available: true,
				})
			}
		}
		return made
	}
	types := []catalog.InstanceType{
		typ("t3.nano", "amd64", 0.001, 0.005), typ("t3.micro", "amd64", 0.002, 0.01), typ("m5.large", "amd64", 0.04, 0.1),
		typ("t4g.nano", "arm64", 0.0015, 0.004), typ("m6i.large", "amd64", 0.05, 0.11), typ("g5.xlarge", "amd64", 0, 1),
	}
	types[5].Exotic = true
	reserved := catalog.Offering{CapacityType: "reserved", Zone: "b", Available: true}
	types[5].Offerings = append(types[5].Offerings, reserved)
	class := &api.EC2NodeClass{}
	class.Name = "default"
	class.Status.Subnets = []api.Subnet{{ID: "subnet-a", Zone: "a"}, {ID: "subnet-b", Zone: "b"}}
	for _, architecture := range []string{"amd64", "arm64"} {
		class.Status.AMIs = append(class.Status.AMIs, api.AMI{
			ID: "ami-" + architecture, Requirements: []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{architecture}},
			},
		})
	}
	pool := func(key string, values ...string) api.NodePool {
		var made api.NodePool
		if key != "" {
			made.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
				{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values},
			}
		}
		return made
	}
	for _, test := range []struct {
		name  string
		pools []api.NodePool
		want  []string
	}{
		{"no pool", nil, nil},
		{
			"any type", []api.NodePool{pool("")},
			[]string{
				"t3.nano spot ami-amd64 1", "t4g.nano spot ami-arm64 1", "t4g.nano on-demand ami-arm64 1",
				"m5.large spot ami-amd64 1",
			},
		},
		{
			"few types", []api.NodePool{pool(corev1.LabelInstanceTypeStable, "m5.large", "m6i.large")},
			[]string{"m5.large spot ami-amd64 1", "m5.large on-demand ami-amd64 1", "m6i.large spot ami-amd64 1"},
		},
		{
			"on demand only", []api.NodePool{pool(api.CapacityTypeLabelKey, "on-demand")},
			[]string{
				"t4g.nano on-demand ami-arm64 1", "t3.nano on-demand ami-amd64 1", "m5.large on-demand ami-amd64 1",
				"m6i.large on-demand ami-amd64 1",
			},
		},
		{
			"GPUs and reservations", []api.NodePool{pool(corev1.LabelInstanceTypeStable, "g5.xlarge")},
			[]string{"g5.xlarge on-demand ami-amd64 2"},
		},
		{
			"two pools", []api.NodePool{
				pool(corev1.LabelInstanceTypeStable, "m6i.large"), pool(corev1.LabelInstanceTypeStable, "t4g.nano"),
			},
			[]string{"t4g.nano spot ami-arm64 1", "m6i.large spot ami-amd64 1", "t4g.nano on-demand ami-arm64 1"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, trial := range Trials(class, test.pools, types) {
				got = append(got, fmt.Sprintf("%s %s %s %d",
					trial.InstanceType, trial.CapacityType, trial.Image.ID, len(trial.Subnets)))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q\nwant %q", got, test.want)
			}
		})
	}
}
