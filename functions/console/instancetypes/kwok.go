package instancetypes

import (
	"cmp"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/functions/console/document"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// These labels are those of nodes of Karpenter's kwok provider.
// https://github.com/kubernetes-sigs/karpenter/tree/main/kwok
const (
	kwokSizeLabel   = "karpenter.kwok.sh/instance-size"
	kwokFamilyLabel = "karpenter.kwok.sh/instance-family"
	kwokCPULabel    = "karpenter.kwok.sh/instance-cpu"
	kwokMemoryLabel = "karpenter.kwok.sh/instance-memory"
)

// kwokPods is the number of pods on a node whose type names none.
const kwokPods = "110"

// kwokType is an instance type in the form of Karpenter's kwok provider.
type kwokType struct {
	Name             string              `json:"name"`
	Offerings        []kwokOffering      `json:"offerings"`
	Architecture     string              `json:"architecture"`
	OperatingSystems []string            `json:"operatingSystems"`
	Resources        corev1.ResourceList `json:"resources"`
}

type kwokOffering struct {
	Price float64
	// Available defaults to true.
	Available           *bool
	Requirements        []corev1.NodeSelectorRequirement
	ReservationCapacity int
	// CapacityType and Zone belong to an older form without requirements.
	CapacityType string
	Zone         string
}

// awsSize matches the part of an EC2 type's name after the dot.
var awsSize = regexp.MustCompile(`^\w+\.(nano|micro|small|medium|large|\d*xlarge|metal)$`)

func parseKwok(d *document.Document) (*Table, error) {
	var read []kwokType
	if err := d.DecodeFold(&read, "instance types"); err != nil {
		return nil, err
	}
	table := &Table{}
	keys := map[string]bool{kwokSizeLabel: true, kwokFamilyLabel: true, kwokCPULabel: true, kwokMemoryLabel: true}
	for i := range read {
		types, err := read[i].types(d, document.Path{i}, keys)
		if err != nil {
			return nil, err
		}
		table.types = append(table.types, types...)
	}
	table.WellKnownLabels = sortedKeys(keys)
	return table, nil
}

// types returns one type for each operating system. It adds to keys the labels that offerings
// decide, because pods may require them.
func (k *kwokType) types(
	d *document.Document, path document.Path, keys map[string]bool,
) ([]catalog.InstanceType, error) {
	if k.Name == "" {
		return nil, d.Errorf(path, "instance types: %s: is missing", path.With("name"))
	}
	var offerings []offering
	for i := range k.Offerings {
		read, err := k.Offerings[i].read(d, path.With("offerings", i), keys)
		if err != nil {
			return nil, err
		}
		offerings = append(offerings, read)
	}
	capacity := k.Resources.DeepCopy()
	if capacity == nil {
		capacity = corev1.ResourceList{}
	}
	if _, ok := capacity[corev1.ResourcePods]; !ok {
		capacity[corev1.ResourcePods] = resource.MustParse(kwokPods)
	}
	reserved := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("10Mi"),
	}
	systems := k.OperatingSystems
	if len(systems) == 0 {
		systems = []string{string(corev1.Linux)}
	}
	var types []catalog.InstanceType
	for _, system := range systems {
		t := catalog.InstanceType{
			Name: k.Name, Requirements: k.labels(system), Capacity: capacity, Allocatable: allocatable(capacity, reserved),
		}
		for i := range offerings {
			t.Offerings = append(t.Offerings, offerings[i].offerings(t.Requirements)...)
		}
		finish(&t)
		types = append(types, t)
	}
	return types, nil
}

func (o *kwokOffering) read(d *document.Document, path document.Path, keys map[string]bool) (offering, error) {
	requirements, err := scheduling.FromNodeSelectorTerm(corev1.NodeSelectorTerm{MatchExpressions: o.Requirements})
	if err != nil {
		return offering{}, d.Errorf(path.With("Requirements"), "instance types: %s: %w", path.With("Requirements"), err)
	}
	for key, value := range map[string]string{api.CapacityTypeLabelKey: o.CapacityType, corev1.LabelTopologyZone: o.Zone} {
		if value != "" {
			requirements.Add(scheduling.In(key, value))
		}
	}
	for key := range requirements {
		keys[key] = true
	}
	if o.Price < 0 {
		return offering{}, d.Errorf(
			path.With("Price"), "instance types: %s: %v is negative: want zero or more", path.With("Price"), o.Price,
		)
	}
	return offering{
		requirements: requirements, price: o.Price, available: o.Available == nil || *o.Available,
		reservationCapacity: o.ReservationCapacity,
	}, nil
}

// labels returns the labels of a node of the type.
func (k *kwokType) labels(system string) scheduling.Requirements {
	text := func(name corev1.ResourceName) string {
		amount, ok := k.Resources[name]
		if !ok {
			return ""
		}
		return amount.String()
	}
	size := text(corev1.ResourceCPU)
	if match := awsSize.FindStringSubmatch(k.Name); match != nil {
		size = match[1]
	}
	family := k.Name[:1]
	if end := strings.IndexAny(k.Name, ".-"); end >= 0 {
		family = k.Name[:end]
	}
	return scheduling.FromLabels(map[string]string{
		corev1.LabelInstanceTypeStable: k.Name,
		corev1.LabelArchStable:         cmp.Or(k.Architecture, api.ArchitectureAmd64),
		corev1.LabelOSStable:           system,
		kwokSizeLabel:                  size,
		kwokFamilyLabel:                family,
		kwokCPULabel:                   text(corev1.ResourceCPU),
		kwokMemoryLabel:                text(corev1.ResourceMemory),
	})
}
