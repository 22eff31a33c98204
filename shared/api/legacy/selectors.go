package legacy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
)

// Keys of selectors that are no tags.
const (
	selectorIDs       = "aws-ids"
	selectorAMIIDs    = "aws::ids"
	selectorAMINames  = "aws::name"
	selectorAMIOwners = "aws::owners"
)

const (
	// maximumTerms is the number of terms that a selector of v1 holds.
	maximumTerms  = 30
	tooManyRemedy = "leave fewer alternatives, or use a tag that is common to them"
)

// isSelectorKey reports whether a selector's key is not a tag.
func isSelectorKey(key string) bool {
	switch key {
	case selectorIDs, selectorAMIIDs, selectorAMINames, selectorAMIOwners:
		return true
	}
	return false
}

// alternatives splits a value at its commas.
func alternatives(value string) []string {
	var list []string
	for _, part := range strings.Split(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// idsOf returns the ids that a selector names.
func idsOf(selector map[string]string) []string {
	return append(alternatives(selector[selectorIDs]), alternatives(selector[selectorAMIIDs])...)
}

// tagSets returns each combination of the alternatives of a selector's tags. It returns false for
// more than v1 holds. Without tags there is one empty set.
func tagSets(selector map[string]string) ([]map[string]string, bool) {
	sets := []map[string]string{{}}
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		if isSelectorKey(key) {
			continue
		}
		values := alternatives(selector[key])
		if len(values) == 0 {
			values = []string{"*"} // "" matches any value
		}
		var next []map[string]string
		for _, set := range sets {
			for _, value := range values {
				with := maps.Clone(set)
				with[key] = value
				next = append(next, with)
			}
		}
		if sets = next; len(sets) > maximumTerms {
			return nil, false
		}
	}
	return sets, true
}

// hasTags reports whether a selector has a tag.
func hasTags(selector map[string]string) bool {
	for key := range selector {
		if !isSelectorKey(key) {
			return true
		}
	}
	return false
}

// selection is a selector of subnets or security groups: ids, or sets of tags.
type selection struct {
	ids  []string
	tags []map[string]string
}

// selected converts a selector of subnets or security groups. Without one, the resources with the
// cluster's tag are selected.
func (c *changes) selected(selector map[string]string, field, target string, settings Settings) selection {
	if len(selector) == 0 {
		c.add(Noted, field, target, "without it, Karpenter selected what has the cluster's tag", "")
		return selection{tags: []map[string]string{{api.ClusterTagKey(settings.cluster()): "*"}}}
	}
	ids := idsOf(selector)
	if len(ids) > 0 {
		if hasTags(selector) {
			c.add(Lost, field, target, "v1 selects by ids or by tags, so only the ids count", "remove the tags")
		}
		if len(ids) > maximumTerms {
			c.add(Blocking, field, target, fmt.Sprintf("has %d ids, and v1 holds %d", len(ids), maximumTerms), tooManyRemedy)
			return selection{}
		}
		return selection{ids: ids}
	}
	sets, ok := tagSets(selector)
	if !ok {
		c.add(Blocking, field, target, tooManyText, tooManyRemedy)
		return selection{}
	}
	return selection{tags: sets}
}

var tooManyText = fmt.Sprintf("has more combinations of values than the %d terms that v1 holds", maximumTerms)

func (c *changes) subnetTerms(s source, settings Settings) []api.SubnetSelectorTerm {
	var terms []api.SubnetSelectorTerm
	chosen := c.selected(s.spec.SubnetSelector, s.prefix+".subnetSelector", "spec.subnetSelectorTerms", settings)
	for _, id := range chosen.ids {
		terms = append(terms, api.SubnetSelectorTerm{ID: id})
	}
	for _, tags := range chosen.tags {
		terms = append(terms, api.SubnetSelectorTerm{Tags: tags})
	}
	return terms
}

func (c *changes) securityGroupTerms(s source, settings Settings) []api.SecurityGroupSelectorTerm {
	var terms []api.SecurityGroupSelectorTerm
	chosen := c.selected(
		s.spec.SecurityGroupSelector, s.prefix+".securityGroupSelector", "spec.securityGroupSelectorTerms", settings,
	)
	for _, id := range chosen.ids {
		terms = append(terms, api.SecurityGroupSelectorTerm{ID: id})
	}
	for _, tags := range chosen.tags {
		terms = append(terms, api.SecurityGroupSelectorTerm{Tags: tags})
	}
	return terms
}

// imageTerms converts an amiSelector: ids, or each combination of names, owners and tags. The
// problem is empty for a selector that v1 can hold.
func imageTerms(selector map[string]string) (terms []api.AMISelectorTerm, problem string) {
	if len(selector) == 0 {
		return nil, ""
	}
	for _, id := range idsOf(selector) {
		terms = append(terms, api.AMISelectorTerm{ID: id})
	}
	if len(terms) > maximumTerms {
		return nil, tooManyText
	}
	if len(terms) > 0 {
		return terms, ""
	}
	sets, ok := tagSets(selector)
	if !ok {
		return nil, tooManyText
	}
	names, owners := alternatives(selector[selectorAMINames]), alternatives(selector[selectorAMIOwners])
	if len(names) == 0 {
		names = []string{""}
	}
	if len(owners) == 0 {
		owners = []string{""}
	}
	for _, tags := range sets {
		for _, name := range names {
			for _, owner := range owners {
				if terms = append(terms, api.AMISelectorTerm{Name: name, Owner: owner}); len(tags) > 0 {
					terms[len(terms)-1].Tags = tags
				}
				if len(terms) > maximumTerms {
					return nil, tooManyText
				}
			}
		}
	}
	return terms, ""
}
