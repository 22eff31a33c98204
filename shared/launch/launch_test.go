package launch

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/nodeclass"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

func instanceType(name, architecture, cpu string, offerings ...catalog.Offering) catalog.InstanceType {
	return catalog.InstanceType{
		Name: name,
		Requirements: scheduling.NewRequirements(
			scheduling.In(corev1.LabelInstanceTypeStable, name), scheduling.In(corev1.LabelArchStable, architecture),
			scheduling.In(api.CapacityTypeLabelKey, "spot", "on-demand"), scheduling.In(corev1.LabelTopologyZone, "a", "b", "c"),
		),
		Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
		Offerings:   offerings,
	}
}

func offering(capacityType, zone string, price float64) catalog.Offering {
	return catalog.Offering{CapacityType: capacityType, Zone: zone, Price: price, Available: true}
}

func input() Input {
	claim := &api.NodeClaim{}
	claim.Name, claim.UID = "default-abc", "0f0e0d0c-0000-0000-0000-000000000001"
	claim.Labels = map[string]string{
		api.NodePoolLabelKey: "default", "team": "a", api.LabelInstanceFamily: "m5", api.LabelNodeClass: "default",
		api.LabelTopologyZoneID: "use1-az1",
	}
	claim.Annotations = map[string]string{api.AttemptAnnotationKey: "2"}
	claim.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
		{
			Key:      corev1.LabelInstanceTypeStable,
			Operator: corev1.NodeSelectorOpIn,
			Values:   []string{"amd.large", "amd.small", "arm.large"},
		},
		{Key: api.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{"spot", "on-demand"}},
		{Key: api.NodePoolLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{"default"}},
		{Key: api.LabelNodeClass, Operator: corev1.NodeSelectorOpIn, Values: []string{"default"}},
		{Key: "team", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}},
	}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	class := &api.EC2NodeClass{}
	class.Name = "default"
	class.Spec.AMISelectorTerms = []api.AMISelectorTerm{{Alias: "al2023@latest"}}
	class.Spec.Tags = map[string]string{"cost-center": "7"}
	class.Status.Subnets = []api.Subnet{
		{ID: "subnet-a2", Zone: "a"},
		{ID: "subnet-a1", Zone: "a"},
		{ID: "subnet-b", Zone: "b"},
	}
	class.Status.AMIs = []api.AMI{image("ami-amd", "amd64"), image("ami-arm", "arm64")}
	return Input{
		Claim: claim, Class: class, Cluster: nodeclass.Cluster{Name: "prod"},
		Types: []catalog.InstanceType{
			instanceType("amd.small", "amd64", "1", offering("spot", "a", 0.01)),
			instanceType(
				"amd.large", "amd64", "4", offering("spot", "a", 0.04), offering("spot", "b", 0.2), offering("on-demand", "a", 0.1),
			),
			instanceType("arm.large", "arm64", "4", offering("spot", "b", 0.03), offering("on-demand", "b", 0.08),
				offering("on-demand", "c", 0.08)),
			instanceType("other.large", "amd64", "4", offering("spot", "a", 0.001)),
		},
	}
}

func image(id, architecture string) api.AMI {
	return api.AMI{
		ID: id,
		Requirements: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{architecture}},
		},
	}
}

// overrides writes a request's choices as image:type/subnet.
func overrides(request Request) []string {
	var list []string
	for _, template := range request.Templates {
		for _, override := range template.Overrides {
			list = append(list, template.Content.ImageID+":"+override.InstanceType+"/"+override.SubnetID)
		}
	}
	return list
}

func TestBuild(t *testing.T) {
	for _, test := range []struct {
		name         string
		change       func(*Input)
		capacityType string
		want         []string
	}{
		{
			"spot comes first where it is cheaper, in the emptiest subnet of each zone, from the image that the type runs",
			func(*Input) {}, "spot", []string{"ami-amd:amd.large/subnet-a2", "ami-arm:arm.large/subnet-b"},
		},
		{
			"a zone without a subnet offers nothing",
			func(in *Input) { in.Claim.Spec.Requirements[1].Values = []string{"on-demand"} },
			"on-demand", []string{"ami-amd:amd.large/subnet-a2", "ami-arm:arm.large/subnet-b"},
		},
		{
			"on-demand where no spot is available",
			func(in *Input) {
				for i := range in.Types {
					for j := range in.Types[i].Offerings {
						in.Types[i].Offerings[j].Available = in.Types[i].Offerings[j].CapacityType != "spot"
					}
				}
			}, "on-demand", []string{"ami-amd:amd.large/subnet-a2", "ami-arm:arm.large/subnet-b"},
		},
		{
			"only the architecture that has an image",
			func(in *Input) { in.Class.Status.AMIs = in.Class.Status.AMIs[1:] }, "spot", []string{"ami-arm:arm.large/subnet-b"},
		},
		{
			"small types that hold the pods when the pods are small",
			func(in *Input) {
				in.Claim.Spec.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("500m")
			},
			"spot", []string{"ami-amd:amd.large/subnet-a2", "ami-amd:amd.small/subnet-a2", "ami-arm:arm.large/subnet-b"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := input()
			test.change(&in)
			request, err := Build(in)
			if err != nil {
				t.Fatal(err)
			}
			if request.CapacityType != test.capacityType || !slices.Equal(overrides(request), test.want) {
				t.Errorf("%s %q, want %s %q", request.CapacityType, overrides(request), test.capacityType, test.want)
			}
		})
	}
}

// TestAGangInOneZoneIsLaunchedWhole asks for a minimum only where EC2 takes one, and where a part is of
// no use.
// TestARequestKnowsOfOtherImages holds that a request tells whether types of another architecture are left.
func TestARequestKnowsOfOtherImages(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Input)
		want   bool
	}{
		{"types of both architectures", func(*Input) {}, false},
		{"one type of the claim", func(in *Input) { in.Claim.Spec.Requirements[0].Values = []string{"amd.large"} }, true},
		{"the class has one image", func(in *Input) { in.Class.Status.AMIs = in.Class.Status.AMIs[:1] }, false},
		{"the class has types of one architecture", func(in *Input) { in.Types = in.Types[:2] }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := input()
			test.change(&in)
			if request, err := Build(in); err != nil || request.OtherImages != test.want {
				t.Errorf("%v, %v, want %v", request.OtherImages, err, test.want)
			}
		})
	}
}

func TestAGangInOneZoneIsLaunchedWhole(t *testing.T) {
	inZone := func(in *Input, zone string) {
		in.Claim.Spec.Requirements = append(in.Claim.Spec.Requirements, api.NodeSelectorRequirementWithMinValues{
			Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone},
		})
	}
	for name, test := range map[string]struct {
		change func(*Input)
		want   bool
	}{
		"two nodes in one zone":  {func(in *Input) { inZone(in, "a") }, true},
		"two nodes in two zones": {func(*Input) {}, false},
		"two nodes without a gang": {func(in *Input) {
			inZone(in, "a")
			delete(in.Claim.Annotations, api.GangAnnotationKey)
		}, false},
		"one node": {func(in *Input) {
			inZone(in, "a")
			delete(in.Claim.Annotations, api.BatchAnnotationKey)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := input()
			in.Claim.Annotations[api.GangAnnotationKey] = "default/training"
			in.Claim.Annotations[api.BatchAnnotationKey] = Batch{ID: "batch", Size: 2}.String()
			test.change(&in)
			request, err := Build(in)
			if err != nil || request.Whole != test.want {
				t.Errorf("the request is whole: %t, %v; want %t", request.Whole, err, test.want)
			}
		})
	}
}

func TestARepeatedRequestIsTheSame(t *testing.T) {
	first, err := Build(input())
	if err != nil {
		t.Fatal(err)
	}
	in := input()
	slices.Reverse(in.Types)
	second, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	one, _ := json.Marshal(first)
	two, _ := json.Marshal(second)
	if string(one) != string(two) {
		t.Errorf("two requests for one attempt differ:\n%s\n%s", one, two)
	}
	if len(first.ClientToken) > 64 || !strings.HasSuffix(first.ClientToken, "-2") {
		t.Errorf("token %q", first.ClientToken)
	}
}

// TestTypesWithEqualKubeletSettingsShareATemplate: the others have templates of their own.
func TestTypesWithEqualKubeletSettingsShareATemplate(t *testing.T) {
	in := input()
	in.Claim.Spec.Requirements[0].Values = append(in.Claim.Spec.Requirements[0].Values, "other.large")
	told := func(name string, pods int32, reserved map[string]string) {
		i := slices.IndexFunc(in.Types, func(typ catalog.InstanceType) bool { return typ.Name == name })
		in.Types[i].Kubelet = &api.KubeletConfiguration{MaxPods: &pods, KubeReserved: reserved}
	}
	same := map[string]string{"cpu": "70m"}
	told("amd.large", 20, same)
	told("other.large", 20, maps.Clone(same))
	told("arm.large", 11, nil)
	request, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	if len(request.Templates) != 2 {
		t.Fatalf("%d templates for %v", len(request.Templates), overrides(request))
	}
	for i, want := range []string{"maxPods: 20", "maxPods: 11"} {
		if data := request.Templates[i].Content.UserData; !strings.Contains(data, want) ||
			strings.Contains(data, "cpu: 70m") != (i == 0) {
			t.Errorf("template %d with %v has the user data %s", i, request.Templates[i].Overrides, data)
		}
	}
	for range 20 { // whatever the order of a map
		again, err := Build(in)
		if err != nil || !slices.Equal(overrides(again), overrides(request)) ||
			again.Templates[0].Content.Name != request.Templates[0].Content.Name {
			t.Fatalf("another request, %v", err)
		}
	}
}

// TestTypesWithEqualValuesOfExpressionsShareATemplate is the same for a class with expressions. The
// values are the catalogue's.
func TestTypesWithEqualValuesOfExpressionsShareATemplate(t *testing.T) {
	in := input()
	in.Claim.Spec.Requirements[0].Values = append(in.Claim.Spec.Requirements[0].Values, "other.large")
	in.Class.Spec.Kubelet = &api.KubeletConfiguration{
		SystemReserved: map[string]string{"memory": "memory_mib / 64"},
		Other:          map[string]json.RawMessage{"maxPods": json.RawMessage(`"max_pods - 2"`)},
	}
	for i := range in.Types {
		pods, memory := int32(27), "128Mi"
		if in.Types[i].Name == "arm.large" {
			memory = "256Mi"
		}
		in.Types[i].Kubelet = &api.KubeletConfiguration{MaxPods: &pods, SystemReserved: map[string]string{"memory": memory}}
	}
	request, err := Build(in)
	if err != nil || len(request.Templates) != 2 {
		t.Fatalf("%d templates for %v, %v", len(request.Templates), overrides(request), err)
	}
	for i, want := range []string{"memory: 128Mi", "memory: 256Mi"} {
		data := request.Templates[i].Content.UserData
		if !strings.Contains(data, "maxPods: 27") || !strings.Contains(data, want) || strings.Contains(data, "max_pods") {
			t.Errorf("template %d with %v has the user data %s", i, request.Templates[i].Overrides, data)
		}
	}
}

func TestTagsNameTheOwner(t *testing.T) {
	request, err := Build(input())
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"kubernetes.io/cluster/prod": "owned", "eks:eks-cluster-name": "prod", "karpenter.sh/nodepool": "default",
		"karpenter.sh/nodeclaim": "default-abc", "karpenter.k8s.aws/ec2nodeclass": "default", "cost-center": "7",
	} {
		if request.Tags[key] != value {
			t.Errorf("tag %s is %q, want %q", key, request.Tags[key], value)
		}
	}
	for _, template := range request.Templates {
		if _, has := template.Content.Tags["karpenter.sh/nodeclaim"]; has {
			t.Error("a launch template carries the claim's name: no other claim could share it")
		}
		if !strings.Contains(template.Content.UserData, "karpenter.sh/nodepool=default") ||
			strings.Contains(template.Content.UserData, "instance-family") {
			t.Errorf("user data: %s", template.Content.UserData)
		}
	}
}

func TestNoOfferingIsAnError(t *testing.T) {
	in := input()
	in.Claim.Spec.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("500")
	if _, err := Build(in); !errors.Is(err, ErrNoOffering) {
		t.Errorf("got %v", err)
	}
	in = input()
	in.Class.Status.AMIs = nil
	if _, err := Build(in); err == nil || errors.Is(err, ErrNoOffering) ||
		!strings.Contains(err.Error(), "spec.amiSelectorTerms") {
		t.Errorf("got %v", err)
	}
	in = input()
	in.Claim.Spec.Requirements[0].Operator = "Near"
	if _, err := Build(in); err == nil || !strings.Contains(err.Error(), "Near") {
		t.Errorf("got %v", err)
	}
}

func TestAPriceOverlayMakesPrioritiesCount(t *testing.T) {
	in := input()
	if request, err := Build(in); err != nil || request.Prioritized {
		t.Errorf("without an overlay: prioritized %v, %v", request.Prioritized, err)
	}
	in.Types[1].Offerings[2].PriceOverlay = true // on-demand
	if request, err := Build(in); err != nil || request.Prioritized {
		t.Errorf("an overlay on what is not asked for: prioritized %v, %v", request.Prioritized, err)
	}
	in.Types[2].Offerings[0].PriceOverlay = true
	if request, err := Build(in); err != nil || !request.Prioritized || request.CapacityType != "spot" {
		t.Errorf("with an overlay: prioritized %v, %v", request.Prioritized, err)
	}
}
