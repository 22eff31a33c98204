package savingsplans

import (
	"strings"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
)

// rateJSON is a rate as the API writes it.
type rateJSON struct {
	Rate        string     `json:"rate"`
	Currency    string     `json:"currency"`
	Unit        string     `json:"unit"`
	ProductType string     `json:"productType"`
	ServiceCode string     `json:"serviceCode"`
	UsageType   string     `json:"usageType"`
	Operation   string     `json:"operation"`
	Properties  []property `json:"properties"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// windows and dedicated are what instances with these cost, as a multiple of the price of shared
// Linux. elsewhere is the price in the other region.
const windows, dedicated, elsewhere = 1.9, 1.06, 1.15

// otherRegion is a region beside the service's own one, and otherPrefix what its usage types begin
// with.
const otherRegion, otherPrefix = "eu-central-1", "EUC1-"

// rates are all rows of the plan: those of EC2 in two regions, and for a Compute plan those of
// Fargate and Lambda.
func (s *Service) rates(p *Plan) []rateJSON {
	var rows []rateJSON
	places := []struct {
		region, prefix string
		factor         float64
	}{{s.region, "", 1}, {otherRegion, otherPrefix, elsewhere}}
	for _, place := range places {
		if p.Type == EC2Instance && place.region != p.Region {
			continue
		}
		for i := range s.types {
			t := &s.types[i]
			if t.OnDemandPrice <= 0 || p.Type == SageMaker || p.Type == EC2Instance && familyOf(t.Name) != p.Family {
				continue
			}
			rows = append(rows, p.rowsOf(t, place.region, place.prefix, place.factor)...)
		}
		if p.Type == Compute {
			rows = append(rows, p.otherServices(place.region, place.prefix)...)
		}
	}
	return rows
}

func familyOf(name string) string {
	family, _, _ := strings.Cut(name, ".")
	return family
}

func (p *Plan) rowsOf(t *builtin.InstanceType, region, prefix string, factor float64) []rateJSON {
	var rows []rateJSON
	for _, platform := range []struct {
		product, operation string
		factor             float64
	}{{"Linux/UNIX", "RunInstances", 1}, {"Windows", "RunInstances:0002", windows}} {
		for _, use := range []struct {
			tenancy, usage string
			factor         float64
		}{
			{"shared", "BoxUsage:", 1}, {"shared", "UnusedBox:", 1}, {"dedicated", "DedicatedUsage:", dedicated},
		} {
			rows = append(rows, rateJSON{
				Rate:     amount(t.OnDemandPrice * factor * platform.factor * use.factor * (1 - p.Discount)),
				Currency: p.Currency, Unit: "Hrs", ProductType: "EC2", ServiceCode: "AmazonEC2",
				UsageType: prefix + use.usage + t.Name, Operation: platform.operation,
				Properties: []property{
					{"region", region}, {"instanceType", t.Name}, {"instanceFamily", familyOf(t.Name)},
					{"productDescription", platform.product}, {"tenancy", use.tenancy},
				},
			})
		}
	}
	return rows
}

// otherServices has a row of Fargate and one of Lambda.
func (p *Plan) otherServices(region, prefix string) []rateJSON {
	return []rateJSON{
		{
			Rate: amount(0.04048 * 0.8), Currency: p.Currency, Unit: "Hrs", ProductType: "Fargate", ServiceCode: "AmazonEKS",
			UsageType: prefix + "Fargate-vCPU-Hours:perCPU", Properties: []property{{"region", region}},
		},
		{
			Rate: amount(0.0000166667 * 0.88), Currency: p.Currency, Unit: "Lambda-GB-Second", ProductType: "Lambda",
			ServiceCode: "AWSLambda", UsageType: prefix + "Lambda-GB-Second", Properties: []property{{"region", region}},
		},
	}
}

// values are those of the row by the filter's name.
func (r *rateJSON) values() map[string]string {
	values := map[string]string{
		"productType": r.ProductType, "serviceCode": r.ServiceCode, "usageType": r.UsageType, "operation": r.Operation,
		"region": "", "instanceType": "", "productDescription": "", "tenancy": "",
	}
	for _, p := range r.Properties {
		values[p.Name] = p.Value
	}
	return values
}
