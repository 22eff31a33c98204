package launch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// reserve adds a reserved offering to a type, of a reservation of the class.
func reserve(in *Input, typ, zone, id string, left int, price float64, kind string, interruptible bool) {
	in.Class.Status.CapacityReservations = append(in.Class.Status.CapacityReservations, api.CapacityReservation{
		ID: id, InstanceType: typ, AvailabilityZone: zone, ReservationType: kind, Interruptible: interruptible,
	})
	for i := range in.Types {
		if in.Types[i].Name == typ {
			in.Types[i].Requirements[api.CapacityTypeLabelKey] = scheduling.In(
				api.CapacityTypeLabelKey, "spot", "on-demand", "reserved")
			in.Types[i].Offerings = append(in.Types[i].Offerings, catalog.Offering{
				CapacityType: "reserved", Zone: zone, Price: price, Available: true, ReservationID: id, ReservationCapacity: left,
			})
		}
	}
	in.Claim.Spec.Requirements[1].Values = []string{"spot", "on-demand", "reserved"}
}

// reserved writes a request's choices as reservation:type/zone.
func reserved(request Request) []string {
	var list []string
	for _, template := range request.Templates {
		for _, override := range template.Overrides {
			list = append(list, template.ReservationID+":"+override.InstanceType+"/"+override.Zone)
		}
	}
	return list
}

func TestReservedCapacityComesFirst(t *testing.T) {
	const ordinary, block = api.CapacityReservationTypeDefault, api.CapacityReservationTypeCapacityBlock
	for _, test := range []struct {
		name          string
		reserve       func(*Input)
		want          []string
		kind          string
		interruptible bool
	}{
		{
			"before spot, whatever the price",
			func(in *Input) { reserve(in, "amd.large", "a", "cr-1", 3, 9, ordinary, false) },
			[]string{"cr-1:amd.large/a"}, ordinary, false,
		},
		{"in each zone of a type the reservation with most instances left", func(in *Input) {
			reserve(in, "amd.large", "a", "cr-1", 3, 1, ordinary, false)
			reserve(in, "amd.large", "a", "cr-2", 5, 1, ordinary, false)
			reserve(in, "amd.large", "b", "cr-3", 1, 1, ordinary, false)
		}, []string{"cr-2:amd.large/a", "cr-3:amd.large/b"}, ordinary, false},
		{"of one kind: that of the cheapest", func(in *Input) {
			reserve(in, "amd.large", "a", "cr-1", 3, 2, ordinary, false)
			reserve(in, "arm.large", "b", "cr-2", 3, 1, ordinary, true)
		}, []string{"cr-2:arm.large/b"}, ordinary, true},
		{"at equal prices ordinary before blocks before interruptible", func(in *Input) {
			reserve(in, "amd.large", "b", "cr-1", 3, 1, ordinary, true)
			reserve(in, "amd.large", "a", "cr-2", 3, 1, block, false)
			reserve(in, "arm.large", "b", "cr-3", 3, 1, ordinary, false)
		}, []string{"cr-3:arm.large/b"}, ordinary, false},
		{"a capacity block alone, the cheapest", func(in *Input) {
			reserve(in, "amd.large", "a", "cr-1", 3, 2, block, false)
			reserve(in, "arm.large", "b", "cr-2", 3, 1, block, false)
		}, []string{"cr-2:arm.large/b"}, block, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := input()
			test.reserve(&in)
			request, err := Build(in)
			if err != nil {
				t.Fatal(err)
			}
			if got := reserved(request); !slices.Equal(got, test.want) || request.CapacityType != "reserved" ||
				request.ReservationType != test.kind || request.Interruptible != test.interruptible {
				t.Errorf(
					"%s %s %v %q, want %s %v %q", request.CapacityType, request.ReservationType, request.Interruptible, got, test.kind,
					test.interruptible, test.want)
			}
		})
	}
	t.Run("a reservation that was used up of late is left out", func(t *testing.T) {
		in := input()
		reserve(&in, "amd.large", "a", "cr-1", 3, 1, ordinary, false)
		in.Now, in.Unavailable = time.Now(), &catalog.Unavailable{}
		in.Unavailable.LeaveOut(catalog.ReservationKey("cr-1"), in.Now.Add(time.Minute))
		if request, err := Build(in); err != nil || request.CapacityType != "spot" {
			t.Errorf("%+v, %v", request, err)
		}
	})
}

func TestExoticTypesAreForPodsThatNeedThem(t *testing.T) {
	in := input()
	in.Types[2].Exotic = true
	request, err := Build(in)
	if err != nil || !slices.Equal(overrides(request), []string{"ami-amd:amd.large/subnet-a2"}) {
		t.Errorf("%q, %v, want the type that is not exotic alone", overrides(request), err)
	}
	in.Types[1].Exotic = true
	if request, err = Build(in); err != nil || len(request.Overrides()) != 2 {
		t.Errorf("%q, %v, want exotic types where there are no others", overrides(request), err)
	}
}

func TestShortOfferingsAreLeftOut(t *testing.T) {
	in := input()
	in.Now, in.Unavailable = time.Now(), &catalog.Unavailable{}
	in.Unavailable.Mark("spot", "amd.large", "a", in.Now)
	request, err := Build(in)
	if err != nil || !slices.Equal(overrides(request), []string{"ami-arm:arm.large/subnet-b"}) {
		t.Errorf("%q, %v", overrides(request), err)
	}
	in.Unavailable.LeaveOut(catalog.CapacityTypeKey("spot"), in.Now.Add(time.Minute))
	if request, err = Build(in); err != nil || request.CapacityType != "on-demand" {
		t.Errorf("%s, %v, want on-demand where all spot is left out", request.CapacityType, err)
	}
	in.Now = in.Now.Add(time.Hour)
	if request, err = Build(in); err != nil || request.CapacityType != "spot" || len(request.Overrides()) != 2 {
		t.Errorf("%q, %v, want everything an hour later", overrides(request), err)
	}
}

// many is an input with n more types, each dearer than the one before.
func many(n int) Input {
	in := input()
	in.Claim.Spec.Requirements[0].Operator = corev1.NodeSelectorOpExists
	in.Claim.Spec.Requirements[0].Values = nil
	in.Types = nil
	for i := range n {
		typ := instanceType(fmt.Sprintf("t%03d.large", i), "amd64", "4", offering("spot", "a", float64(i+1)/1000),
			offering("on-demand", "a", 10))
		typ.Requirements.Add(scheduling.In(api.LabelInstanceFamily, fmt.Sprintf("t%d", i/10)))
		in.Types = append(in.Types, typ)
	}
	return in
}

func TestARequestNamesSixtyTypes(t *testing.T) {
	request, err := Build(many(100))
	if err != nil {
		t.Fatal(err)
	}
	all := request.Overrides()
	if len(all) != 60 || all[0].InstanceType != "t000.large" || all[59].InstanceType != "t059.large" {
		t.Errorf("%d overrides, want the 60 cheapest", len(all))
	}
}

// TestARequestNamesFiftyLaunchTemplates has types that each need kubelet settings, and so a template, of
// their own. The last two share that of the first.
func TestARequestNamesFiftyLaunchTemplates(t *testing.T) {
	in := many(70)
	for i := range in.Types {
		pods := int32(i % 68)
		in.Types[i].Kubelet = &api.KubeletConfiguration{MaxPods: &pods}
	}
	request, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, override := range request.Overrides() {
		named = append(named, override.InstanceType)
	}
	slices.Sort(named)
	if len(request.Templates) != 50 || len(named) != 52 || named[49] != "t049.large" || named[51] != "t069.large" {
		t.Errorf("%d templates for %q, want those of the 50 cheapest types, and the types that share them",
			len(request.Templates), named)
	}
	all := 60
	in.Claim.Spec.Requirements = append(in.Claim.Spec.Requirements, api.NodeSelectorRequirementWithMinValues{
		Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpExists, MinValues: &all,
	})
	if _, err := Build(in); !errors.Is(err, ErrNoOffering) ||
		!strings.Contains(err.Error(), "minValues needs 60 launch templates in one request, which holds 50") {
		t.Errorf("got %v", err)
	}
}

func TestMinValues(t *testing.T) {
	three := 3
	for _, test := range []struct {
		name  string
		least int
		key   string
		want  int // types
		last  string
		err   string
	}{
		{"met by the cheapest", 4, api.LabelInstanceFamily, 60, "t059.large", ""},
		{"keeps a dear type that brings the last value", 8, api.LabelInstanceFamily, 60, "t070.large", ""},
		{
			"more values than there are", 11, api.LabelInstanceFamily, 0, "",
			"minValues asks for 11 values of karpenter.k8s.aws/instance-family, and the available offerings have 10",
		},
		{
			"more types than a request holds", 61, corev1.LabelInstanceTypeStable, 0, "",
			"minValues needs 61 instance types in one request, which holds 60",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := many(100)
			in.Claim.Spec.Requirements = append(in.Claim.Spec.Requirements, api.NodeSelectorRequirementWithMinValues{
				Key: test.key, Operator: corev1.NodeSelectorOpExists, MinValues: &test.least,
			})
			request, err := Build(in)
			if test.err != "" {
				if !errors.Is(err, ErrNoOffering) || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %v, want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			all := request.Overrides()
			if len(all) != test.want || all[len(all)-1].InstanceType != test.last {
				t.Errorf("%d overrides, the last %s, want %d and %s", len(all), all[len(all)-1].InstanceType, test.want, test.last)
			}
		})
	}
	t.Run("relaxed ones ask for nothing", func(t *testing.T) {
		in := many(2)
		in.Claim.Spec.Requirements = append(in.Claim.Spec.Requirements, api.NodeSelectorRequirementWithMinValues{
			Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpExists, MinValues: &three,
		})
		if _, err := Build(in); !errors.Is(err, ErrNoOffering) {
			t.Errorf("strict: %v", err)
		}
		in.Claim.Annotations[api.NodeClaimMinValuesRelaxedAnnotationKey] = "true"
		if _, err := Build(in); err != nil {
			t.Errorf("relaxed: %v", err)
		}
	})
	t.Run("keep exotic types and dear spot", func(t *testing.T) {
		in := many(3)
		in.Types[2].Exotic = true
		in.Types[1].Offerings[0].Price = 20
		in.Claim.Spec.Requirements = append(in.Claim.Spec.Requirements, api.NodeSelectorRequirementWithMinValues{
			Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpExists, MinValues: &three,
		})
		if request, err := Build(in); err != nil || len(request.Overrides()) != 3 {
			t.Errorf("%q, %v", overrides(request), err)
		}
	})
}

func TestTheSubnetWithMostAddressesLeft(t *testing.T) {
	in := input()
	for i := range in.Types {
		in.Types[i].Capacity = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("30")}
	}
	if !HasChoice(in.Class) {
		t.Error("zone a has two subnets to choose from")
	}
	zoneA := func() string {
		t.Helper()
		request, err := Build(in)
		if err != nil {
			t.Fatal(err)
		}
		return request.Templates[0].Overrides[0].SubnetID
	}
	in.Addresses = &Addresses{Free: map[string]int{"subnet-a1": 100, "subnet-a2": 60, "subnet-b": 10}}
	if got := zoneA(); got != "subnet-a1" {
		t.Errorf("%s, want the one with more free addresses", got)
	}
	request, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	request.Count = 2
	in.Addresses.Reserve(&request)
	if got := zoneA(); got != "subnet-a2" {
		t.Errorf("%s, want the one that no launch is about to fill", got)
	}
	in.Addresses.Settle(&request, map[string]int{"subnet-b": 2})
	if got := zoneA(); got != "subnet-a1" || in.Addresses.Taken["subnet-b"] != 60 || in.Addresses.Taken["subnet-a1"] != 0 {
		t.Errorf("%s, taken %v, want what was not launched given back", got, in.Addresses.Taken)
	}
	in.Now, in.Unavailable = time.Now(), &catalog.Unavailable{}
	in.Unavailable.LeaveOut(catalog.SubnetKey("subnet-a1"), in.Now.Add(time.Minute))
	if got := zoneA(); got != "subnet-a2" {
		t.Errorf("%s, want the one that EC2 was not short of addresses in", got)
	}
}

func TestVariations(t *testing.T) {
	in := input()
	in.Class.Status.SecurityGroups = []api.SecurityGroup{{ID: "sg-1"}}
	ctx := "special"
	in.Class.Spec.Context = &ctx
	request, err := Build(in)
	if err != nil || request.Context != ctx || !request.Templates[0].Content.SpotRequest {
		t.Errorf(
			"context %q, %+v, %v, want the class's context, and tags for the spot request", request.Context, request.Templates,
			err)
	}
	in.Claim.Annotations[api.NodeClaimMinValuesRelaxedAnnotationKey] = "true"
	in.Claim.Spec.Requirements[1].Values = []string{"on-demand"}
	if request, err = Build(in); err != nil || request.Context != "" || request.Templates[0].Content.SpotRequest {
		t.Errorf("context %q, %+v, %v, want no context with relaxed minValues, and no spot request's tags", request.Context,
			request.Templates, err)
	}
	requirements := scheduling.NewRequirements(scheduling.In(api.LabelInstanceTenancy, "dedicated"))
	in.Claim.Spec.Resources.Requests[api.ResourceEFA] = resource.MustParse("1")
	in.Claim.Spec.Resources.Requests[api.ResourceNitroSandbox] = resource.MustParse("1")
	of := &catalog.InstanceType{Capacity: corev1.ResourceList{api.ResourceEFA: resource.MustParse("4")}}
	got := in.variation(requirements, offer{of: of, capacityType: "reserved", reservationID: "cr-1"},
		api.CapacityReservation{Interruptible: true})
	if got.Tenancy != "dedicated" || got.Interfaces != 4 || !got.Enclaves || got.ReservationID != "cr-1" ||
		got.ReservationType != "default" || !got.Interruptible {
		t.Errorf("variation %+v", got)
	}
	requirements = scheduling.NewRequirements(scheduling.In(api.LabelInstanceTenancy, "dedicated", "default"))
	if got := tenancy(requirements); got != "default" {
		t.Errorf("tenancy %s, want default where it is allowed", got)
	}
	// Without a type that has enclaves there is nothing to launch.
	if _, err := Build(in); !errors.Is(err, ErrNoOffering) {
		t.Errorf("got %v", err)
	}
}
