package limit

import (
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// OfQuotas are the limits of the CapacityQuotas. As with Cluster Autoscaler, one whose selector
// cannot be read bounds nothing. Of the others counts what can be read. Faults says what does not.
func OfQuotas(quotas []api.CapacityQuota) []plan.Limit {
	var limits []plan.Limit
	for i := range quotas {
		if quota := &quotas[i]; selectorFault(quota) == "" {
			limits = append(limits, plan.Limit{
				Kind: api.CapacityQuotaKind, Name: quota.Name,
				Selector: quota.Spec.Selector, Resources: quota.Spec.Limits.Resources,
			})
		}
	}
	return limits
}

// Fault is what of a CapacityQuota bounds nothing.
type Fault struct {
	Quota *api.CapacityQuota
	// Message names the field and the remedy.
	Message string
}

// Faults are those of the CapacityQuotas.
func Faults(quotas []api.CapacityQuota) []Fault {
	var faults []Fault
	for i := range quotas {
		quota := &quotas[i]
		fault := selectorFault(quota)
		switch {
		case fault != "":
			fault += ": the capacityquota bounds nothing until that is mended"
		case len(quota.Unreadable) > 0:
			fault = api.UnreadableText(quota.Unreadable)
		case len(quota.Spec.Limits.Resources) == 0:
			fault = "spec.limits.resources is empty: name cpu, memory or nodes"
		default:
			continue
		}
		faults = append(faults, Fault{Quota: quota, Message: fault})
	}
	return faults
}

// selectorFault says why the quota's selector cannot be read.
func selectorFault(quota *api.CapacityQuota) string {
	for path := range quota.Unreadable {
		if path == "spec" || strings.HasPrefix(path, "spec.selector") {
			return api.UnreadableText(quota.Unreadable)
		}
	}
	if _, err := Selector(quota.Spec.Selector); err != nil {
		return err.Error()
	}
	return ""
}
