package ec2

import (
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// instanceTypeFilters has the filters whose facts the table has, of
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypes.html.
func instanceTypeFilters() fields[*builtin.InstanceType] {
	type T = *builtin.InstanceType
	return fields[T]{
		"bare-metal":                            func(t T) []string { return yesNo(t.BareMetal) },
		"current-generation":                    func(t T) []string { return yesNo(t.CurrentGeneration) },
		"hypervisor":                            func(t T) []string { return one(t.Hypervisor) },
		"instance-type":                         func(t T) []string { return one(t.Name) },
		"processor-info.supported-architecture": func(t T) []string { return t.Architectures },
		"supported-virtualization-type":         func(t T) []string { return virtualization(t) },
	}
}

func (s *Service) describeInstanceTypes(_ *wire.Call, in *describeInstanceTypesRequest) (any, error) {
	if len(in.InstanceTypes) > 100 {
		return nil, refuse("InvalidParameterCombination", "The request names %d instance types: at most 100 are allowed",
			len(in.InstanceTypes))
	}
	if len(in.InstanceTypes) > 0 && in.MaxResults != nil {
		return nil, refuse(codeInvalidParameterCombination,
			"The parameter instanceTypes cannot be used with the parameter maxResults")
	}
	wanted := make([]*builtin.InstanceType, 0, len(s.types))
	if len(in.InstanceTypes) > 0 {
		var unknown []string
		for _, name := range slices.Compact(slices.Sorted(slices.Values(in.InstanceTypes))) {
			if t, ok := s.typeOf[name]; ok {
				wanted = append(wanted, t)
			} else {
				unknown = append(unknown, name)
			}
		}
		if len(unknown) > 0 {
			return nil, refuse("InvalidInstanceType", "The following supplied instance types do not exist: [%s]",
				strings.Join(unknown, ", "))
		}
	} else {
		for i := range s.types {
			wanted = append(wanted, &s.types[i])
		}
	}
	wanted, err := matching(wanted, in.Filters, instanceTypeFilters(), nil)
	if err != nil {
		return nil, err
	}
	page, next, err := paginate(wanted, in.MaxResults, in.NextToken, pageBounds{Least: 5, Most: 100, Default: 100})
	if err != nil {
		return nil, err
	}
	out := &describeInstanceTypesResult{NextToken: next}
	for _, t := range page {
		out.InstanceTypes.Items = append(out.InstanceTypes.Items, describeType(t))
	}
	return out, nil
}

func (s *Service) describeInstanceTypeOfferings(_ *wire.Call, in *describeInstanceTypeOfferingsRequest) (any, error) {
	if in.LocationType == "" {
		in.LocationType = "region"
	}
	var all []instanceTypeOffering
	for i := range s.types {
		t := &s.types[i]
		switch in.LocationType {
		case "region":
			all = append(all, instanceTypeOffering{t.Name, in.LocationType, s.config.Region})
		case "availability-zone", "availability-zone-id":
			for _, z := range s.vpc.zones {
				if !slices.Contains(t.Zones, z.Name) {
					continue
				}
				location := z.Name
				if in.LocationType == "availability-zone-id" {
					location = z.ID
				}
				all = append(all, instanceTypeOffering{t.Name, in.LocationType, location})
			}
		default:
			return nil, invalidValue(in.LocationType, "locationType",
				"Expecting region, availability-zone or availability-zone-id.")
		}
	}
	all, err := matching(all, in.Filters, fields[instanceTypeOffering]{
		"instance-type": func(o instanceTypeOffering) []string { return one(o.InstanceType) },
		"location":      func(o instanceTypeOffering) []string { return one(o.Location) },
	}, nil)
	if err != nil {
		return nil, err
	}
	page, next, err := paginate(all, in.MaxResults, in.NextToken, pageBounds{Least: 5, Most: 1000, Default: 1000})
	if err != nil {
		return nil, err
	}
	return &describeInstanceTypeOfferingsResult{Offerings: setOf(page), NextToken: next}, nil
}
