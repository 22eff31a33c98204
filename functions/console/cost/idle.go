package cost

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/console/printable"
	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// mostIdle is how many idle commitments are named.
const mostIdle = 5

// idleCommitments are the idle parts of the commitments, the largest first.
func idleCommitments(objects *view.Cluster, shown *view.Commitments) []Waste {
	if shown == nil || !shown.Current {
		return nil
	}
	stocks := slices.Clone(objects.Commitments.Stocks)
	slices.SortStableFunc(stocks, func(a, b commitment.Stock) int {
		return cmp.Compare(b.Use().IdlePerHour, a.Use().IdlePerHour)
	})
	var list []Waste
	others := Waste{}
	for i := range stocks {
		use := stocks[i].Use()
		switch {
		case use.IdlePerHour <= 0:
		case len(list) < mostIdle:
			list = append(list, Waste{
				PerHour: use.IdlePerHour,
				What: fmt.Sprintf("%s %s is idle by this much of $%.4f/h, which the account pays all the same", use.Kind,
					printable.Line(use.ID), use.PerHour),
				Remedy: remedy(objects, &stocks[i]),
			})
		default:
			others.PerHour += use.IdlePerHour
		}
	}
	if others.PerHour > 0 {
		others.What, others.Remedy = "other commitments are idle by this much", "whittle status -A shows all"
		list = append(list, others)
	}
	return list
}

// remedy is what lets the cluster use the idle part.
func remedy(objects *view.Cluster, s *commitment.Stock) string {
	if share := objects.Commitments.Share; share < 1 && s.Left(share) == 0 {
		return fmt.Sprintf("This cluster may use %.0f %% of it: raise the setting commitmentPercent", 100*share)
	}
	for i := range objects.NodePools {
		if pool := &objects.NodePools[i]; mayUse(pool, s) {
			return "whittle plan -consolidate shows the moves onto it; nodes of nodepool " + pool.Name + " may be of its types"
		}
	}
	what := "node.kubernetes.io/instance-type " + anyType(s)
	if s.Family != "" {
		what = api.LabelInstanceFamily + " " + s.Family
	} else if s.Kind == commitment.KindSavingsPlan {
		what = "its instance types"
	}
	where := ""
	if s.Zone != "" {
		where = " in zone " + s.Zone
	}
	return "No nodepool may use it: allow " + api.CapacityTypeLabelKey + " on-demand and " + what + where +
		" in spec.template.spec.requirements of one"
}

// anyType is the first instance type that the stock pays for.
func anyType(s *commitment.Stock) string {
	first := ""
	for name := range s.Units {
		if first == "" || name < first {
			first = name
		}
	}
	return first
}

// mayUse reports whether the pool's requirements allow an instance that the stock pays for. Whether one
// fits the pods is not asked.
func mayUse(pool *api.NodePool, s *commitment.Stock) bool {
	wanted, err := scheduling.FromTerms(pool.Spec.Template.Spec.Requirements)
	if err != nil || pool.DeletionTimestamp != nil {
		return false
	}
	allows := func(key, value string) bool { r, has := wanted[key]; return !has || r.Has(value) }
	if !allows(api.CapacityTypeLabelKey, api.CapacityTypeOnDemand) ||
		s.Zone != "" && !allows(corev1.LabelTopologyZone, s.Zone) {
		return false
	}
	for name := range s.Units {
		family, size, _ := strings.Cut(name, ".")
		if allows(corev1.LabelInstanceTypeStable, name) && allows(api.LabelInstanceFamily, family) &&
			allows(api.LabelInstanceSize, size) && allows(api.LabelInstanceCategory, catalog.FamilyLetters(family)) {
			return true
		}
	}
	return false
}
