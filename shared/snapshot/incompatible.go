package snapshot

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// nothingCompatible is Karpenter's message. Alerts match on it.
const nothingCompatible = "NodePool requirements filtered out all compatible available instance types"

// Incompatible returns the message of api.EventReasonNoCompatibleInstanceTypes for a NodePool that
// no available instance type suits, or whose types cannot meet its minValues. It is empty for
// others. It begins with Karpenter's words. A pool with invalid requirements has another event.
func Incompatible(pool *api.NodePool, types []catalog.InstanceType, policy plan.MinValuesPolicy) string {
	requirements, err := scheduling.FromTerms(pool.Spec.Template.Spec.Requirements)
	if err != nil {
		return ""
	}
	requirements.Merge(scheduling.FromLabels(pool.Spec.Template.Labels))
	lacks := valuesLacking{requirements: requirements, least: map[string]int{}, values: map[string]map[string]bool{}}
	for key, requirement := range requirements {
		if least, has := requirement.MinValues(); has && policy != plan.MinValuesBestEffort {
			lacks.least[key], lacks.values[key] = least, map[string]bool{}
		}
	}
	ofType := maps.Clone(requirements)
	maps.DeleteFunc(ofType, func(key string, _ scheduling.Requirement) bool { return !scheduling.IsWellKnown(key) })
	delete(ofType, api.NodePoolLabelKey)
	delete(ofType, api.LabelNodeClass)
	allowed := catalog.ReadOfferingRequirements(ofType)
	found := false
	for i := range types {
		if !types[i].Requirements.IsCompatible(ofType, scheduling.UndefinedIsAbsent) {
			continue
		}
		for j := range types[i].Offerings {
			if offering := &types[i].Offerings[j]; offering.Available && allowed.Allow(offering) {
				found = true
				lacks.count(&types[i], offering)
			}
		}
		if key, _ := lacks.first(); found && key == "" {
			return ""
		}
	}
	if key, have := lacks.first(); found {
		return fmt.Sprintf("%s due to minValues incompatibility: minValues asks for %d values of %s, and the types have %d: "+
			"lower minValues or widen spec.template.spec.requirements", nothingCompatible, lacks.least[key], key, have)
	}
	return nothingCompatible + ": widen spec.template.spec.requirements, or wait where EC2 lacks capacity"
}

// valuesLacking counts the values of the keys with minValues.
type valuesLacking struct {
	requirements scheduling.Requirements
	least        map[string]int
	values       map[string]map[string]bool
}

// count adds the values of an instance type with an offering, as far as the pool admits them.
func (l *valuesLacking) count(instanceType *catalog.InstanceType, offering *catalog.Offering) {
	for key := range l.least {
		values, _ := instanceType.Requirements[key].Values()
		switch key {
		case corev1.LabelTopologyZone:
			values = []string{offering.Zone}
		case api.CapacityTypeLabelKey:
			values = []string{offering.CapacityType}
		}
		for _, value := range values {
			if l.requirements[key].Has(value) {
				l.values[key][value] = true
			}
		}
	}
}

// first is the first key that has too few values, with their number, or nothing.
func (l *valuesLacking) first() (key string, have int) {
	for _, key := range slices.Sorted(maps.Keys(l.least)) {
		if have := len(l.values[key]); have < l.least[key] {
			return key, have
		}
	}
	return "", 0
}
