package drift_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/disruption/drift"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// drifting is a claim that is as its pool and class want it, with what they are.
// monday is Monday, 2 March 2026, 12:00 UTC.
var monday = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func drifting(t *testing.T) (*drift.Origin, *api.NodeClaim, *drift.Machine) {
	t.Helper()
	in := func(key, value string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
	}
	pool := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	pool.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{
		Group: api.AWSGroup,
		Kind:  api.EC2NodeClassKind,
		Name:  "c",
	}
	pool.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
		{Key: api.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{"spot", "reserved"}},
	}
	class := api.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	class.Status.AMIs = []api.AMI{
		{ID: "ami-amd", Requirements: []corev1.NodeSelectorRequirement{in(corev1.LabelArchStable, "amd64")}},
		{ID: "ami-arm", Requirements: []corev1.NodeSelectorRequirement{in(corev1.LabelArchStable, "arm64")}},
	}
	class.Status.SecurityGroups = []api.SecurityGroup{{ID: "sg-a"}, {ID: "sg-b"}}
	class.Status.Subnets = []api.Subnet{{ID: "subnet-a"}}
	class.Status.CapacityReservations = []api.CapacityReservation{{ID: "cr-a"}}
	known := &catalog.Catalog{
		InstanceTypes: []catalog.InstanceTypeInfo{
			{InstanceType: "m5.large", Zones: []string{"a"}, SupportedUsageClasses: []string{"on-demand", "spot"}},
		},
	}
	origins, err := drift.Origins([]api.NodePool{pool}, []api.EC2NodeClass{class}, []byte("CA"), known)
	if err != nil {
		t.Fatal(err)
	}
	origin := origins["p"]
	claim := &api.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name:              "n",
			CreationTimestamp: metav1.NewTime(monday.Add(-2 * time.Hour)),
			Labels: map[string]string{
				api.NodePoolLabelKey: "p", corev1.LabelArchStable: "arm64", corev1.LabelInstanceTypeStable: "m5.large",
				corev1.LabelTopologyZone: "a", api.CapacityTypeLabelKey: "spot",
			},
		},
	}
	claim.Status.ImageID = "ami-arm"
	claim.Status.Conditions = []metav1.Condition{{Type: api.ConditionTypeLaunched, Status: metav1.ConditionTrue}}
	claim.Annotations = origin.Hashes(claim)
	return origin, claim, &drift.Machine{SubnetID: "subnet-a", SecurityGroupIDs: []string{"sg-b", "sg-a"}}
}

func TestDrift(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*drift.Origin, *api.NodeClaim, *drift.Machine)
		want   string
	}{
		{"nothing", func(*drift.Origin, *api.NodeClaim, *drift.Machine) {}, ""},
		{
			"pool", func(o *drift.Origin, _ *api.NodeClaim, _ *drift.Machine) { o.PoolHash = "other" },
			api.ReasonNodePoolDrifted,
		},
		{"pool, other version", func(o *drift.Origin, c *api.NodeClaim, _ *drift.Machine) {
			o.PoolHash = "other"
			c.Annotations[api.NodePoolHashVersionAnnotationKey] = "v2"
		}, ""},
		{"pool, unknown", func(o *drift.Origin, c *api.NodeClaim, _ *drift.Machine) {
			o.PoolHash = "other"
			delete(c.Annotations, api.NodePoolHashAnnotationKey)
		}, ""},
		{"requirements", func(_ *drift.Origin, c *api.NodeClaim, _ *drift.Machine) {
			c.Labels[api.CapacityTypeLabelKey] = "on-demand"
		}, api.ReasonRequirementsDrifted},
		{"type", func(_ *drift.Origin, c *api.NodeClaim, _ *drift.Machine) {
			c.Labels[corev1.LabelInstanceTypeStable] = "m4.large"
		}, api.ReasonInstanceTypeNotFound},
		{"type of a young node", func(_ *drift.Origin, c *api.NodeClaim, _ *drift.Machine) {
			c.Labels[corev1.LabelInstanceTypeStable] = "m4.large"
			c.CreationTimestamp = metav1.NewTime(monday.Add(-30 * time.Minute))
		}, ""},
		{"type without catalogue", func(o *drift.Origin, c *api.NodeClaim, _ *drift.Machine) {
			c.Labels[corev1.LabelInstanceTypeStable] = "m4.large"
			o.Catalog = nil
		}, ""},
		{
			"zone", func(_ *drift.Origin, c *api.NodeClaim, _ *drift.Machine) { c.Labels[corev1.LabelTopologyZone] = "b" },
			api.ReasonInstanceTypeNotFound,
		},
		{"reserved", func(_ *drift.Origin, c *api.NodeClaim, m *drift.Machine) {
			c.Labels[api.CapacityTypeLabelKey] = "reserved"
			m.ReservationID = "cr-a"
		}, ""},
		{
			"class", func(o *drift.Origin, _ *api.NodeClaim, _ *drift.Machine) { o.ClassHash = "other" },
			api.ReasonNodeClassDrift,
		},
		{"class, other version", func(o *drift.Origin, c *api.NodeClaim, _ *drift.Machine) {
			o.ClassHash = "other"
			c.Annotations[api.AnnotationEC2NodeClassHashVersion] = "v5"
		}, ""},
		{
			"image", func(_ *drift.Origin, c *api.NodeClaim, _ *drift.Machine) { c.Status.ImageID = "ami-amd" },
			api.ReasonAMIDrift,
		},
		{"image unknown", func(_ *drift.Origin, c *api.NodeClaim, _ *drift.Machine) { c.Status.ImageID = "" }, ""},
		{"group more", func(_ *drift.Origin, _ *api.NodeClaim, m *drift.Machine) {
			m.SecurityGroupIDs = []string{"sg-a", "sg-b", "sg-c"}
		}, ""},
		{"group more, where the class wants no others", func(o *drift.Origin, _ *api.NodeClaim, m *drift.Machine) {
			o.Class.Annotations = map[string]string{api.SecurityGroupPolicyAnnotationKey: api.SecurityGroupsEqual}
			m.SecurityGroupIDs = []string{"sg-a", "sg-b", "sg-c"}
		}, api.ReasonSecurityGroupDrift},
		{"another group in place of one", func(_ *drift.Origin, _ *api.NodeClaim, m *drift.Machine) {
			m.SecurityGroupIDs = []string{"sg-a", "sg-c"}
		}, api.ReasonSecurityGroupDrift},
		{
			"group less", func(_ *drift.Origin, _ *api.NodeClaim, m *drift.Machine) { m.SecurityGroupIDs = []string{"sg-a"} },
			api.ReasonSecurityGroupDrift,
		},
		{
			"subnet", func(_ *drift.Origin, _ *api.NodeClaim, m *drift.Machine) { m.SubnetID = "subnet-b" },
			api.ReasonSubnetDrift,
		},
		{
			"reservation", func(_ *drift.Origin, _ *api.NodeClaim, m *drift.Machine) { m.ReservationID = "cr-b" },
			api.ReasonCapacityReservationDrift,
		},
		{"placement group", func(_ *drift.Origin, c *api.NodeClaim, _ *drift.Machine) {
			c.Labels[api.LabelPlacementGroupID] = "pg-1"
		}, api.ReasonPlacementGroupDrift},
		{
			"no class", func(o *drift.Origin, c *api.NodeClaim, _ *drift.Machine) { o.Class, c.Status.ImageID = nil, "ami-x" },
			"",
		},
		{"order", func(o *drift.Origin, c *api.NodeClaim, m *drift.Machine) {
			o.ClassHash, c.Status.ImageID, m.SubnetID = "other", "ami-x", "subnet-b"
		}, api.ReasonNodeClassDrift},
		{"not launched", func(o *drift.Origin, c *api.NodeClaim, _ *drift.Machine) {
			o.PoolHash, c.Status.Conditions = "other", nil
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			origin, claim, machine := drifting(t)
			test.change(origin, claim, machine)
			conditions := slices.Clone(claim.Status.Conditions)
			changed := origin.SetDrifted(claim, &conditions, machine, monday)
			got := ""
			if condition := api.GetCondition(conditions, api.ConditionTypeDrifted); condition != nil {
				got = condition.Reason
				if condition.Message == "" || condition.Status != metav1.ConditionTrue {
					t.Errorf("condition %+v", condition)
				}
			}
			if got != test.want || changed != (got != "") {
				t.Errorf("got %q, changed %t", got, changed)
			}
			// A second look changes nothing.
			if origin.SetDrifted(claim, &conditions, machine, monday.Add(time.Minute)) {
				t.Error("told twice")
			}
		})
	}
}

func TestDriftThatCannotBeToldNowStays(t *testing.T) {
	origin, claim, machine := drifting(t)
	claim.Labels[corev1.LabelInstanceTypeStable] = "m4.large"
	conditions := slices.Clone(claim.Status.Conditions)
	origin.SetDrifted(claim, &conditions, machine, monday)
	known := origin.Catalog
	origin.Catalog = nil // of most looks
	if origin.SetDrifted(claim, &conditions, machine, monday) || !api.ConditionTrue(conditions, api.ConditionTypeDrifted) {
		t.Errorf("forgotten: %+v", conditions)
	}
	origin.Catalog, claim.Labels[corev1.LabelInstanceTypeStable] = known, "m5.large"
	if !origin.SetDrifted(claim, &conditions, machine, monday) ||
		api.GetCondition(conditions, api.ConditionTypeDrifted) != nil {
		t.Errorf("kept: %+v", conditions)
	}
	// What EC2 was not asked about is not taken back either.
	machine.SubnetID = "subnet-b"
	origin.SetDrifted(claim, &conditions, machine, monday)
	if origin.SetDrifted(claim, &conditions, nil, monday) {
		t.Error("took back what it did not ask for")
	}
}

// TestWhatCannotBeReadIsNoDrift drops fields of the pool, and then of the class, as a reader does
// that cannot read them.
func TestWhatCannotBeReadIsNoDrift(t *testing.T) {
	origin, claim, machine := drifting(t)
	conditions := slices.Clone(claim.Status.Conditions)
	pool := *origin.Pool
	pool.Spec.Template.Labels = map[string]string{"new": "label"}
	pool.Unreadable = map[string]string{"spec.template.spec.terminationGracePeriod": "too long"}
	class := *origin.Class
	class.Status.AMIs = nil
	class.Unreadable = map[string]string{"spec.tags": "odd"}
	for _, test := range []struct {
		pool  api.NodePool
		class api.EC2NodeClass
	}{{pool, *origin.Class}, {*origin.Pool, class}} {
		origins, err := drift.Origins([]api.NodePool{test.pool}, []api.EC2NodeClass{test.class}, []byte("CB"), origin.Catalog)
		if err != nil {
			t.Fatal(err)
		}
		other := origins["p"]
		if other.SetDrifted(claim, &conditions, machine, monday) || len(other.Hashes(claim)) > 0 {
			t.Errorf("drifted: %+v", conditions)
		}
		if len(test.pool.Unreadable) > 0 && other.PoolAnnotations(nil) != nil {
			t.Error("the hash of a part of the pool is written on it")
		}
		if len(test.class.Unreadable) > 0 && other.ClassAnnotations(nil) != nil {
			t.Error("the hash of a part of the class is written on it")
		}
	}
}

func TestHashesOfOtherVersionsMigrate(t *testing.T) {
	origin, claim, _ := drifting(t)
	if more := origin.Hashes(claim); len(more) > 0 {
		t.Errorf("a claim of today is changed: %v", more)
	}
	claim.Annotations[api.AnnotationEC2NodeClassHashVersion], claim.Annotations[api.AnnotationEC2NodeClassHash] = "v5", "1"
	more := origin.Hashes(claim)
	if len(more) != 2 || more[api.AnnotationEC2NodeClassHashVersion] != api.EC2NodeClassHashVersion ||
		more[api.AnnotationEC2NodeClassHash] != origin.ClassHash {
		t.Errorf("migrated by %v", more)
	}
	// One that has drifted stays so: its hash says something else than the class's.
	claim.Status.Conditions = append(
		claim.Status.Conditions,
		metav1.Condition{Type: api.ConditionTypeDrifted, Status: metav1.ConditionTrue},
	)
	if more := origin.Hashes(claim); len(more) != 1 ||
		more[api.AnnotationEC2NodeClassHashVersion] != api.EC2NodeClassHashVersion {
		t.Errorf("a drifted claim is migrated by %v", more)
	}
	claim.Annotations, claim.Status.Conditions = nil, nil
	if more := origin.Hashes(claim); len(more) != 2 || more[api.NodePoolHashAnnotationKey] != origin.PoolHash {
		t.Errorf("a claim that is not launched gets %v", more)
	}
}

// TestAFailedReadingOfReservationsIsNoDrift resolves the class without an answer of EC2. The node keeps
// the condition that it has.
func TestAFailedReadingOfReservationsIsNoDrift(t *testing.T) {
	origin, claim, machine := drifting(t)
	claim.Labels[api.CapacityTypeLabelKey] = api.CapacityTypeReserved
	machine.ReservationID = "cr-a"
	failed := nodeclass.Facts{CapacityReservationsProblem: nodeclass.Problem{Message: "InvalidCapacityReservationId.Malformed"}}
	class := origin.Class.DeepCopy()
	class.Status = nodeclass.Resolve(class, failed, monday)
	for name, reservations := range map[string][]api.CapacityReservation{
		"as they were": class.Status.CapacityReservations, "lost": nil,
	} {
		origin.Class.Status = class.Status
		origin.Class.Status.CapacityReservations = reservations
		conditions := claim.Status.Conditions
		origin.SetDrifted(claim, &conditions, machine, monday)
		if is := api.GetCondition(conditions, api.ConditionTypeDrifted); is != nil {
			t.Errorf("%s: %s: %s", name, is.Reason, is.Message)
		}
	}
}
