package plantest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

func uid(parts ...string) types.UID { return types.UID("uid-" + strings.Join(parts, "-")) }

// family is a family of instance types.
type family struct {
	name, arch, maker string
	memory            int     // GiB for each vCPU
	price             float64 // invented, in US dollars an hour for each vCPU
	gpus, neurons     bool
}

var families = []family{
	{"m5", "amd64", "intel", 4, 0.048, false, false},
	{"m6a", "amd64", "amd", 4, 0.0432, false, false},
	{"m6g", "arm64", "aws", 4, 0.0385, false, false},
	{"c5", "amd64", "intel", 2, 0.0425, false, false},
	{"c6a", "amd64", "amd", 2, 0.03825, false, false},
	{"c7g", "arm64", "aws", 2, 0.03625, false, false},
	{"r5", "amd64", "intel", 8, 0.063, false, false},
	{"r6g", "arm64", "aws", 8, 0.0504, false, false},
	{"g5", "amd64", "amd", 4, 0.1, true, false},
	{"inf2", "amd64", "amd", 4, 0.095, false, true},
}

var sizes = []struct {
	name string
	cpu  int
	pods int
}{{"medium", 1, 8}, {"large", 2, 29}, {"xlarge", 4, 58}, {"2xlarge", 8, 58}, {"4xlarge", 16, 234}}

// makeTypes picks some types, each with offerings in some of the zones.
func (g *generator) makeTypes() {
	for _, n := range g.Perm(len(families) * len(sizes))[:5+g.IntN(21)] {
		g.types = append(g.types, g.newType(families[n/len(sizes)], n%len(sizes)))
	}
	if g.chance(25) {
		g.addReservations()
	}
	if g.chance(15) {
		g.addRacks()
	}
	for i := range g.types {
		t := &g.types[i]
		slices.SortFunc(t.Offerings, func(a, b catalog.Offering) int {
			return cmp.Or(
				cmp.Compare(a.Price, b.Price),
				strings.Compare(a.Zone, b.Zone),
				strings.Compare(a.CapacityType, b.CapacityType),
			)
		})
		addOfferedLabels(t)
	}
	slices.SortFunc(g.types, func(a, b catalog.InstanceType) int { return strings.Compare(a.Name, b.Name) })
}

func (g *generator) newType(f family, i int) catalog.InstanceType {
	size := sizes[i]
	name := f.name + "." + size.name
	memory := int64(size.cpu*f.memory) << 10 // MiB
	in, absent := scheduling.In, scheduling.DoesNotExist
	requirements := scheduling.NewRequirements(
		in(corev1.LabelInstanceTypeStable, name),
		in(corev1.LabelArchStable, f.arch),
		in(corev1.LabelOSStable, "linux"),
		in(corev1.LabelTopologyRegion, "us-west-2"),
		in(api.LabelInstanceCategory, strings.TrimRight(f.name, "0123456789ag")),
		in(api.LabelInstanceFamily, f.name),
		in(api.LabelInstanceSize, size.name),
		in(api.LabelInstanceGeneration, strings.Trim(f.name, "abcdefghijklmnopqrstuvwxyz")),
		in(api.LabelInstanceCPU, strconv.Itoa(size.cpu)),
		in(api.LabelInstanceMemory, strconv.FormatInt(memory, 10)),
		in(api.LabelInstanceCPUManufacturer, f.maker),
		in(api.LabelInstanceHypervisor, "nitro"),
		absent(api.LabelInstanceLocalNVME),
	)
	if f.gpus {
		requirements[api.LabelInstanceCategory] = in(api.LabelInstanceCategory, "g")
	}
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(size.cpu), resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(memory<<20*925/1000, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(int64(size.pods), resource.DecimalSI),
		corev1.ResourceEphemeralStorage: resource.MustParse("20Gi"),
	}
	exotic := false
	device := func(has bool, count, key string) {
		if has {
			requirements.Add(in(key, count))
		} else {
			requirements.Add(absent(key))
		}
	}
	count := strconv.Itoa(max(1, size.cpu/8))
	device(f.gpus, count, api.LabelInstanceGPUCount)
	device(f.neurons, count, api.LabelInstanceAcceleratorCount)
	if f.gpus {
		capacity[api.ResourceNVIDIAGPU], exotic = resource.MustParse(count), true
	}
	if f.neurons {
		capacity[api.ResourceAWSNeuron], exotic = resource.MustParse(count), true
	}
	if size.cpu >= 2 && !exotic {
		capacity[api.ResourceAWSPodENI] = *resource.NewQuantity(int64(size.cpu*3), resource.DecimalSI)
	}
	if f.name == "r5" {
		capacity["hugepages-2Mi"] = resource.MustParse("512Mi")
	}
	allocatable := capacity.DeepCopy()
	subtract(allocatable, corev1.ResourceCPU, fmt.Sprintf("%dm", 60+5*size.cpu))
	subtract(allocatable, corev1.ResourceMemory, fmt.Sprintf("%dMi", 355+11*size.pods))
	subtract(allocatable, corev1.ResourceEphemeralStorage, "3Gi")
	if _, ok := capacity["hugepages-2Mi"]; ok {
		// The kernel takes huge pages from the memory of everything else.
		subtract(allocatable, corev1.ResourceMemory, "512Mi")
	}
	t := catalog.InstanceType{
		Name:         name,
		Requirements: requirements,
		Capacity:     capacity,
		Allocatable:  allocatable,
		Exotic:       exotic,
	}
	price := f.price * float64(size.cpu)
	for z, zone := range g.zones {
		if !g.chance(85) {
			continue
		}
		offering := catalog.Offering{
			CapacityType: api.CapacityTypeOnDemand,
			Zone:         zone,
			ZoneID:       fmt.Sprintf("usw2-az%d", z+1),
			Price:        rounded(price),
			Available:    g.chance(92),
		}
		t.Offerings = append(t.Offerings, offering)
		if g.chance(80) {
			offering.CapacityType = api.CapacityTypeSpot
			offering.Price = rounded(price * (0.25 + g.Float64()*0.5))
			offering.Available = g.chance(85)
			t.Offerings = append(t.Offerings, offering)
		}
	}
	return t
}

func rounded(price float64) float64 { return math.Round(price*1e4) / 1e4 }

func subtract(list corev1.ResourceList, name corev1.ResourceName, amount string) {
	quantity := list[name]
	quantity.Sub(resource.MustParse(amount))
	list[name] = quantity
}

// addReservations gives some types reserved offerings, which cost next to nothing. Offerings with
// the same id share the reservation's instances.
func (g *generator) addReservations() {
	for n := range 1 + g.IntN(3) {
		id, capacity, zone := fmt.Sprintf("cr-%d", n), 1+g.IntN(3), oneOf(g, g.zones...)
		for range 1 + g.IntN(2) {
			t := &g.types[g.IntN(len(g.types))]
			if len(t.Offerings) == 0 ||
				slices.ContainsFunc(t.Offerings, func(o catalog.Offering) bool { return o.ReservationID == id }) {
				continue
			}
			t.Offerings = append(t.Offerings, catalog.Offering{
				CapacityType: api.CapacityTypeReserved, Zone: zone,
				ZoneID:        fmt.Sprintf("usw2-az%d", slices.Index(zoneNames, zone)+1),
				ReservationID: id, ReservationCapacity: capacity, Price: t.Offerings[0].Price / 1e7, Available: true,
			})
		}
	}
}

// addRacks labels offerings with racks, and declares the label as well known.
func (g *generator) addRacks() {
	g.s.WellKnownLabels = []string{rackLabel}
	for i := range g.types {
		if g.chance(50) {
			continue
		}
		for j := range g.types[i].Offerings {
			g.types[i].Offerings[j].Requirements = scheduling.NewRequirements(scheduling.In(rackLabel, oneOf(g, "r1", "r2")))
		}
	}
}

// addOfferedLabels gives a type's requirements every value that its offerings have.
func addOfferedLabels(t *catalog.InstanceType) {
	values := map[string][]string{
		corev1.LabelTopologyZone: nil, api.LabelTopologyZoneID: nil, api.CapacityTypeLabelKey: nil,
		api.LabelCapacityReservationID: nil,
	}
	for _, o := range t.Offerings {
		for key, value := range map[string]string{
			corev1.LabelTopologyZone: o.Zone, api.LabelTopologyZoneID: o.ZoneID, api.CapacityTypeLabelKey: o.CapacityType,
			api.LabelCapacityReservationID: o.ReservationID,
		} {
			if value != "" {
				values[key] = append(values[key], value)
			}
		}
		for key, r := range o.Requirements {
			if value, ok := r.Single(); ok {
				values[key] = append(values[key], value)
			}
		}
	}
	for key, list := range values {
		if len(list) == 0 && key == api.LabelCapacityReservationID {
			t.Requirements.Add(scheduling.DoesNotExist(key))
			continue
		}
		t.Requirements.Add(scheduling.In(key, list...))
	}
}
