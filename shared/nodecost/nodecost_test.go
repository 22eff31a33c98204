package nodecost_test

import (
	"math"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/nodecost"
)

const month = 730

func classOf(alias string, edit func(*api.EC2NodeClass)) *api.EC2NodeClass {
	class := &api.EC2NodeClass{}
	class.Name = "default"
	class.Spec.AMISelectorTerms = []api.AMISelectorTerm{{Alias: alias}}
	if edit != nil {
		edit(class)
	}
	return class
}

func poolOf(fee string) *api.NodePool {
	pool := &api.NodePool{}
	pool.Name = "default"
	pool.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{
		Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default",
	}
	if fee != "" {
		pool.Annotations = map[string]string{api.NodeFeeAnnotationKey: fee}
	}
	return pool
}

func disk(kind, size string, iops, throughput int64) *api.BlockDeviceMapping {
	device := &api.BlockDevice{}
	if kind != "" {
		device.VolumeType = &kind
	}
	if size != "" {
		quantity := resource.MustParse(size)
		device.VolumeSize = &quantity
	}
	if iops > 0 {
		device.IOPS = &iops
	}
	if throughput > 0 {
		device.Throughput = &throughput
	}
	return &api.BlockDeviceMapping{EBS: device}
}

func disks(list ...*api.BlockDeviceMapping) func(*api.EC2NodeClass) {
	return func(class *api.EC2NodeClass) { class.Spec.BlockDeviceMappings = list }
}

func public(yes bool) func(*api.EC2NodeClass) {
	return func(class *api.EC2NodeClass) { class.Spec.AssociatePublicIPAddress = &yes }
}

// subnets are those of the class; the first few give a public address.
func subnets(public, count int) func(*api.EC2NodeClass) {
	return func(class *api.EC2NodeClass) {
		for i := range count {
			class.Status.Subnets = append(class.Status.Subnets, api.Subnet{PublicIPv4: i < public})
		}
	}
}

func TestExtras(t *testing.T) {
	yuan := &catalog.Catalog{Prices: catalog.Prices{Currency: "CNY"}}
	cheap := &catalog.Catalog{VolumePrices: catalog.VolumePrices{"VolumeUsage.gp3": 0.073}}
	for _, test := range []struct {
		name  string
		known *catalog.Catalog
		class *api.EC2NodeClass
		pool  *api.NodePool
		want  float64
	}{
		{"no class, no pool", nil, nil, nil, 0},
		{"no class", nil, nil, poolOf("0.02"), 0.02},
		{"no pool", nil, classOf("al2023@latest", nil), nil, 1.6 / month},
		{"the family's disk", nil, classOf("al2023@latest", nil), poolOf(""), 1.6 / month},
		{"Bottlerocket's two disks", nil, classOf("bottlerocket@latest", nil), poolOf(""), (6 + 20) * 0.08 / month},
		{"Windows' disk", nil, classOf("windows2022@latest", nil), poolOf(""), 50 * 0.08 / month},
		{"an image's own disks", nil, &api.EC2NodeClass{Spec: api.EC2NodeClassSpec{AMIFamily: pointer("Custom")}}, poolOf(""), 0},
		{"prices of the list", cheap, classOf("al2023@latest", nil), poolOf(""), 20 * 0.073 / month},
		{"mapped disks replace the family's", nil,
			classOf("al2023@latest", disks(disk("gp3", "100Gi", 4000, 225), disk("io2", "10Gi", 1000, 0))), poolOf(""),
			(8 + 5 + 4 + 1.25 + 65) / month},
		{"EC2's default type", nil, classOf("al2023@latest", disks(disk("", "10Gi", 0, 0))), poolOf(""), 1.0 / month},
		{"a size that EC2 rounds up", nil, classOf("al2023@latest", disks(disk("gp3", "10G", 0, 0))), poolOf(""),
			10 * 0.08 / month},
		{"a size of the snapshot", nil, classOf("al2023@latest", disks(disk("gp3", "", 0, 0))), poolOf(""), 0},
		{"no disk at all", nil, classOf("al2023@latest", disks(nil, &api.BlockDeviceMapping{})), poolOf(""), 0},
		{"a public address", nil, classOf("al2023@latest", public(true)), poolOf(""), 1.6/month + 0.005},
		{"no public address", nil, classOf("al2023@latest", public(false)), poolOf(""), 1.6 / month},
		{"subnets with public addresses", nil, classOf("al2023@latest", subnets(2, 2)), poolOf(""), 1.6/month + 0.005},
		{"one of four subnets", nil, classOf("al2023@latest", subnets(1, 4)), poolOf(""), 1.6/month + 0.005/4},
		{"subnets without", nil, classOf("al2023@latest", subnets(0, 2)), poolOf(""), 1.6 / month},
		{"the class decides against its subnets", nil, classOf("al2023@latest", func(class *api.EC2NodeClass) {
			public(false)(class)
			subnets(2, 2)(class)
		}), poolOf(""), 1.6 / month},
		{"all", nil, classOf("al2023@latest", public(true)), poolOf("0.02"), 1.6/month + 0.005 + 0.02},
		{"an unreadable fee", nil, classOf("al2023@latest", nil), poolOf("cheap"), 1.6 / month},
		{"unknown prices", yuan, classOf("al2023@latest", public(true)), poolOf("0.02"), 0.02},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := nodecost.Extras(test.known, test.class, test.pool); math.Abs(got-test.want) > 1e-12 {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// A claim has the class that it names, even if its pool has another one by now.
func TestCostsOfPoolAndClaim(t *testing.T) {
	big := classOf("al2023@latest", disks(disk("gp3", "200Gi", 0, 0)))
	big.Name = "big"
	costs := nodecost.Of(nil, []api.EC2NodeClass{*classOf("al2023@latest", nil), *big}, []api.NodePool{*poolOf("0.02")})
	ref := func(name string) *api.NodeClassReference {
		return &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: name}
	}
	claim := func(ref *api.NodeClassReference, pool string) *api.NodeClaim {
		claim := &api.NodeClaim{}
		claim.Labels, claim.Spec.NodeClassRef = map[string]string{api.NodePoolLabelKey: pool}, ref
		return claim
	}
	kwok := &api.NodeClassReference{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: "default"}
	for name, test := range map[string]struct{ got, want float64 }{
		"pool":                {costs.OfPool(poolOf("0.02")), 1.6/month + 0.02},
		"claim":               {costs.OfClaim(claim(ref("default"), "default")), 1.6/month + 0.02},
		"another class":       {costs.OfClaim(claim(ref("big"), "default")), 16.0/month + 0.02},
		"unknown class":       {costs.OfClaim(claim(ref("gone"), "default")), 0.02},
		"no pool":             {costs.OfClaim(claim(ref("default"), "")), 1.6 / month},
		"no class":            {costs.OfClaim(claim(nil, "gone")), 0},
		"of another provider": {costs.OfClaim(claim(kwok, "gone")), 0},
	} {
		if math.Abs(test.got-test.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, test.got, test.want)
		}
	}
}

func pointer[T any](value T) *T { return &value }
