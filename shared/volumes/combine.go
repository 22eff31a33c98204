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
	// maximumAlternatives bounds Need.Alternatives. Those that differ in the values of one label
	// are one, so that zones and hosts never come near it.
	maximumAlternatives = 256
	// maximumCombinations bounds what is held while the volumes of a pod are combined. What is cut
	// off can only make the plan forgo a place.
	maximumCombinations = 4096
)

// combination is a place where the volumes that have been looked at can be together.
type combination struct {
	requirements scheduling.Requirements
	// chosen has for each claim that takes a volume that stands ready those it can choose from; no
	// two can take the same.
	chosen [][]*corev1.PersistentVolume
}

// combine is where all the volumes can be: each option of one with each of the others,
// contradictions left out. Nil is everywhere. The error names the volume that cannot be where those
// before it are.
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

// merged makes one of the options that need no choice of a volume, where they differ in one label
// alone.
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
		// A volume that can be made everywhere leaves no reason to choose among those that stand
		// ready.
		return []option{{requirements: scheduling.Requirements{}}}
	}
	for _, requirements := range simple {
		result = append(result, option{requirements: requirements})
	}
	return result
}

// join adds each option to each combination that it does not contradict.
func join(combinations []combination, options []option) []combination {
	// Most options of local volumes are for one host each: only those of the combination's own host
	// need looking at.
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

// canChoose reports whether each claim can have a volume of its own among those that it can choose
// from.
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

// shortened joins the first few texts, each once, and counts the rest.
func shortened(texts []string) string {
	const shown = 3
	slices.Sort(texts)
	texts = slices.Compact(texts)
	if len(texts) > shown {
		texts = append(texts[:shown:shown], fmt.Sprintf("%d others", len(texts)-shown))
	}
	return strings.Join(texts, " or ")
}
