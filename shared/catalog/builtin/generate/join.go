package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// facts are all that is known of one type that goes into the table.
type facts struct {
	name string
	described
	limits
	price float64
	// bandwidth is in Mbps, 0 where AWS documents only a word.
	bandwidth float64
	zones     []string
}

// join puts the sources together. It returns the complete types sorted by name, and the reason for
// each type that is left out.
func join(s sources) (complete []facts, leftOut map[string]string) {
	names := make(map[string]bool)
	for name := range s.described {
		names[name] = true
	}
	for name := range s.prices {
		names[name] = true
	}
	for name := range s.limits {
		names[name] = true
	}
	leftOut = make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		f := facts{
			name: name, described: s.described[name], limits: s.limits[name],
			price: s.prices[name], bandwidth: s.bandwidths[name], zones: s.zones[name],
		}
		if fault := s.fault(f); fault != "" {
			leftOut[name] = fault
			continue
		}
		complete = append(complete, f)
	}
	return complete, leftOut
}

// fault says why a type cannot be in the table, or nothing.
func (s sources) fault(f facts) string {
	for i, card := range f.NetworkInfo.NetworkCards {
		if card.NetworkCardIndex != i {
			return "its network cards are not in order"
		}
	}
	if missing := s.missing(f); missing != "" {
		return missing
	}
	return disagreement(f)
}

// missing says which mandatory fact no source has, or nothing.
func (s sources) missing(f facts) string {
	_, isDescribed := s.described[f.name]
	_, hasLimits := s.limits[f.name]
	d := f.described
	switch {
	case !isDescribed:
		return "no description"
	case !hasLimits:
		return "no network limits"
	case f.price <= 0:
		return "no on-demand price in us-east-1"
	case len(f.zones) == 0:
		return "no zone of us-east-1 offers it"
	case min(d.VCpuInfo.DefaultVCpus, d.VCpuInfo.DefaultCores, d.VCpuInfo.DefaultThreadsPerCore) <= 0:
		return "no vCPUs"
	case d.MemoryInfo.SizeInMiB <= 0:
		return "no memory"
	case len(d.ProcessorInfo.SupportedArchitectures) == 0 || d.ProcessorInfo.Manufacturer == "":
		return "no processor"
	case len(d.SupportedUsageClasses) == 0:
		return "no usage class"
	}
	optimized := d.EbsInfo.EbsOptimizedSupport
	if optimized == "" || (optimized != "unsupported" && d.EbsInfo.EbsOptimizedInfo.MaximumBandwidthInMbps <= 0) {
		return "no EBS bandwidth"
	}
	return ""
}

// disagreement says on which fact two sources disagree, or nothing.
func disagreement(f facts) string {
	d, network := f.described, f.NetworkInfo
	var cards []int
	for _, card := range network.NetworkCards {
		cards = append(cards, card.MaximumNetworkInterfaces)
	}
	switch {
	case f.interfaces != network.MaximumNetworkInterfaces || !slices.Equal(f.cards, cards):
		return "two sources disagree on its network interfaces"
	case f.ipv4PerInterface != network.Ipv4AddressesPerInterface || f.defaultCard != network.DefaultNetworkCardIndex:
		return "two sources disagree on its addresses or default card"
	case f.bareMetal != d.BareMetal || (!d.BareMetal && f.hypervisor != d.Hypervisor):
		return "two sources disagree on its hypervisor"
	}
	return ""
}

// report says how many types were left out for each reason, and their sizes by family.
func report(leftOut map[string]string) string {
	reasons := make(map[string]map[string][]string)
	counts := make(map[string]int)
	for _, name := range slices.Sorted(maps.Keys(leftOut)) {
		reason := leftOut[name]
		family, size, _ := strings.Cut(name, ".")
		if reasons[reason] == nil {
			reasons[reason] = make(map[string][]string)
		}
		reasons[reason][family] = append(reasons[reason][family], size)
		counts[reason]++
	}
	var text strings.Builder
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(&text, "left out, %s: %d\n", reason, counts[reason])
		for _, family := range slices.Sorted(maps.Keys(reasons[reason])) {
			fmt.Fprintf(&text, "  %s: %s\n", family, strings.Join(reasons[reason][family], " "))
		}
	}
	return text.String()
}
