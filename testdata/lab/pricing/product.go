package pricing

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
)

// product is one item of the price list.
type product struct {
	// attributes are the values that filters compare, by lower-case name.
	attributes map[string]string
	text       string
}

// location is a region or a group of Local Zones, whose prices are higher by the factor.
type location struct {
	code, kind string
	factor     float64
}

// Codes of the on-demand term and its hourly rate, the same for every product of the real list.
const onDemandTerm, hourlyRate = "JRTCKXETXF", "6YS6EN2CT7"

// published is the date of the prices.
const published = "2026-11-01T00:00:00Z"

type itemJSON struct {
	Product struct {
		ProductFamily string            `json:"productFamily"`
		Attributes    map[string]string `json:"attributes"`
		SKU           string            `json:"sku"`
	} `json:"product"`
	ServiceCode string `json:"serviceCode"`
	Terms       struct {
		OnDemand map[string]termJSON `json:"OnDemand"`
	} `json:"terms"`
	Version         string `json:"version"`
	PublicationDate string `json:"publicationDate"`
}

type termJSON struct {
	PriceDimensions map[string]dimensionJSON `json:"priceDimensions"`
	SKU             string                   `json:"sku"`
	EffectiveDate   string                   `json:"effectiveDate"`
	OfferTermCode   string                   `json:"offerTermCode"`
	TermAttributes  struct{}                 `json:"termAttributes"`
}

type dimensionJSON struct {
	Unit         string            `json:"unit"`
	EndRange     string            `json:"endRange"`
	Description  string            `json:"description"`
	AppliesTo    []string          `json:"appliesTo"`
	RateCode     string            `json:"rateCode"`
	BeginRange   string            `json:"beginRange"`
	PricePerUnit map[string]string `json:"pricePerUnit"`
}

// productsOf returns the items of a type: one for shared tenancy, and a second dedicated one for
// bare metal, as in the real list.
func productsOf(t *builtin.InstanceType, place location) ([]product, error) {
	if t.OnDemandPrice <= 0 {
		return nil, nil
	}
	tenancies := []string{"Shared"}
	if t.BareMetal {
		tenancies = append(tenancies, "Dedicated")
	}
	var products []product
	for _, tenancy := range tenancies {
		p, err := newProduct(t, place, tenancy)
		if err != nil {
			return nil, err
		}
		products = append(products, p)
	}
	return products, nil
}

func newProduct(t *builtin.InstanceType, place location, tenancy string) (product, error) {
	var item itemJSON
	item.Product.ProductFamily = "Compute Instance"
	if t.BareMetal {
		item.Product.ProductFamily = "Compute Instance (bare metal)"
	}
	sum := sha256.Sum256([]byte(place.code + t.Name + tenancy))
	sku := base32.StdEncoding.EncodeToString(sum[:10])
	item.Product.SKU, item.ServiceCode, item.Version, item.PublicationDate = sku, serviceCode, "20261101000000", published
	item.Product.Attributes = attributesOf(t, place, tenancy)
	perHour := t.OnDemandPrice * place.factor
	price := strconv.FormatFloat(perHour, 'f', 10, 64)
	item.Terms.OnDemand = onDemand(sku, "Hrs", price, fmt.Sprintf("$%g per On Demand Linux %s Instance Hour",
		perHour, t.Name))
	return item.product()
}

func onDemand(sku, unit, price, description string) map[string]termJSON {
	term := sku + "." + onDemandTerm
	rate := term + "." + hourlyRate
	return map[string]termJSON{term: {
		SKU: sku, EffectiveDate: published, OfferTermCode: onDemandTerm,
		PriceDimensions: map[string]dimensionJSON{rate: {
			Unit: unit, BeginRange: "0", EndRange: "Inf", AppliesTo: []string{}, RateCode: rate,
			PricePerUnit: map[string]string{"USD": price}, Description: description,
		}},
	}}
}

func (item *itemJSON) product() (product, error) {
	text, err := json.Marshal(item)
	if err != nil {
		return product{}, err
	}
	p := product{
		text: string(text),
		attributes: map[string]string{
			"productfamily": item.Product.ProductFamily, "sku": item.Product.SKU,
		},
	}
	for name, value := range item.Product.Attributes {
		p.attributes[strings.ToLower(name)] = value
	}
	return p, nil
}

func attributesOf(t *builtin.InstanceType, place location, tenancy string) map[string]string {
	storage := "EBS only"
	if len(t.InstanceStorage.Disks) > 0 {
		disk := t.InstanceStorage.Disks[0]
		storage = fmt.Sprintf("%d x %d %s", disk.Count, disk.SizeGB, strings.ToUpper(disk.Type))
	}
	usage := "BoxUsage:" + t.Name
	if tenancy == "Dedicated" {
		usage = "DedicatedUsage:" + t.Name
	}
	architecture := "64-bit"
	if slices.Contains(t.Architectures, "i386") {
		architecture = "32-bit or 64-bit"
	}
	return map[string]string{
		"servicecode": serviceCode, "servicename": "Amazon Elastic Compute Cloud", "regionCode": place.code,
		"locationType": place.kind,
		"instanceType": t.Name, "currentGeneration": map[bool]string{true: "Yes", false: "No"}[t.CurrentGeneration],
		"vcpu": strconv.Itoa(t.VCPUs), "memory": strconv.FormatFloat(float64(t.MemoryMiB)/1024, 'f', -1, 64) + " GiB",
		"storage":            storage,
		"networkPerformance": t.Network.Performance, "processorArchitecture": architecture, "tenancy": tenancy,
		"operatingSystem": "Linux",
		"licenseModel":    "No License required", "preInstalledSw": "NA", "capacitystatus": "Used",
		"marketoption": "OnDemand", "usagetype": usage,
		"operation": "RunInstances", "availabilityzone": "NA",
	}
}
