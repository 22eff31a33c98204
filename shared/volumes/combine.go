package volumes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	// maximumAlternatives limits Need.Alternatives. Alternatives that differ in the values of one
	// label are merged, so zones and hosts stay far below it.
	maximumAlternatives = 256
	// maximumCombinations limits the combinations of the volumes of a pod. The rest is dropped,
	// which can only hide a possible place.
	maximumCombinations = 4096
)

// combination is a place that the volumes considered so far have in common.
type combination struct {
	requirements scheduling.Requirements
	// chosen holds, for each claim that takes an existing volume, the volumes that it can take. No
	// two claims can take the same one.
	chosen [][]*corev1.PersistentVolume
}

// combine returns the places that all volumes have in common: each option of one volume with each
// option of the others, without contradictions. Nil means everywhere. The error names the volume
// that has no place in common with those before it.
func combine(places []placement, pick func(*placement) []option) ([]scheduling.Requirements, error) {
	combinations := []combination{{requirements: scheduling.Requirements{}}}
	for i := range places {
		options := merged(pick(&places[i]))
		joined := join(combinations, options)
		if len(joined) == 0 {
			if i == 0 {
				return nil, fmt.Errorf("volume %q can be on no node", places[i].volume)
			}
			names := make([]string, 0, i)
			for j := range places[:i] {
				names = append(names, strconv.Quote(places[j].volume))
			}
			return nil, fmt.Errorf("volume %q can be on no node where volume %s can be (%s, but %s): move the data of one, "+
				"or use the volumes in different pods",
				places[i].volume, strings.Join(names, ", "), textOf(options), textOfCombinations(combinations))
		}
		combinations = joined
	}
	alternatives := make([]scheduling.Requirements, 0, len(combinations))
	for _, c := range combinations {
		alternatives = append(alternatives, c.requirements)
	}
	alternatives = simplify(alternatives)
	return alternatives[:min(len(alternatives), maximumAlternatives)], nil
}

// merged merges options without a choice of volumes that differ in one label only.
func merged(options []option) []option {
	var result []option
	var free []scheduling.Requirements
	for _, o := range options {
		if len(o.candidates) > 0 {
			result = append(result, o)
		} else {
			free = append(free, o.requirements)
		}
	}
	if len(free) == 0 {
		return result
	}
	simple := simplify(free)
	if simple == nil {
		// A volume that can be created everywhere makes the choice among existing volumes
		// unnecessary.
		return []option{{requirements: scheduling.Requirements{}}}
	}
	for _, requirements := range simple {
		result = append(result, option{requirements: requirements})
	}
	return result
}

// join combines each combination with each option that does not contradict it.
func join(combinations []combination, options []option) []combination {
	// Most options of local volumes are for one host each, so only those of the combination's host
	// matter.
	byHost := map[string][]int{}
	all := make([]int, len(options))
	for i, o := range options {
		all[i] = i
		host, _ := o.requirements[corev1.LabelHostname].Single()
		byHost[host] = append(byHost[host], i)
	}
	var result []combination
	for _, c := range combinations {
		candidates := all
		if host, ok := c.requirements[corev1.LabelHostname].Single(); ok && host != "" {
			candidates = slices.Concat(byHost[host], byHost[""])
		}
		for _, i := range candidates {
			if len(result) == maximumCombinations {
				return result
			}
			requirements := c.requirements.Clone()
			requirements.Merge(options[i].requirements)
			if isEmpty(requirements) {
				continue
			}
			chosen := c.chosen
			if len(options[i].candidates) > 0 {
				chosen = append(slices.Clone(c.chosen), options[i].candidates)
				if !canChoose(chosen) {
					continue
				}
			}
			result = append(result, combination{requirements: requirements, chosen: chosen})
		}
	}
	return result
}

// canChoose reports whether each claim can have a different volume of its list.
func canChoose(lists [][]*corev1.PersistentVolume) bool {
	taken := map[*corev1.PersistentVolume]int{}
	var find func(claim int, seen map[*corev1.PersistentVolume]bool) bool
	find = func(claim int, seen map[*corev1.PersistentVolume]bool) bool {
		for _, volume := range lists[claim] {
			if seen[volume] {
				continue
			}
			seen[volume] = true
			holder, held := taken[volume]
			if !held || find(holder, seen) {
				taken[volume] = claim
				return true
			}
		}
		return false
	}
	for claim := range lists {
		if !find(claim, map[*corev1.PersistentVolume]bool{}) {
			return false
		}
	}
	return true
}

func textOf(options []option) string {
	texts := make([]string, 0, len(options))
	for _, o := range options {
		texts = append(texts, o.requirements.String())
	}
	return shortened(texts)
}

func textOfCombinations(combinations []combination) string {
	texts := make([]string, 0, len(combinations))
	for _, c := range combinations {
		texts = append(texts, c.requirements.String())
	}
	return shortened(texts)
}

// shortened joins the first few distinct texts, and counts the rest.
func shortened(texts []string) string {
	const shown = 3
	slices.Sort(texts)
	texts = slices.Compact(texts)
	if len(texts) > shown {
		texts = append(texts[:shown:shown], fmt.Sprintf("%d others", len(texts)-shown))
	}
	return strings.Join(texts, " or ")
}
