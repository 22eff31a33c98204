package pricing

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strconv"
	"strings"
)

// volumeUsage is a usage type of EBS with its price for a month, as in the real list of us-east-1.
type volumeUsage struct {
	family, volume, usage, unit string
	price                       float64
}

func volumeUsages() []volumeUsage {
	const storage, operations, throughput = "Storage", "System Operation", "Provisioned Throughput"
	return []volumeUsage{
		{storage, "gp3", "EBS:VolumeUsage.gp3", "GB-Mo", 0.08},
		{operations, "gp3", "EBS:VolumeP-IOPS.gp3", "IOPS-Mo", 0.005},
		{throughput, "gp3", "EBS:VolumeP-Throughput.gp3", "GiBps-mo", 40.96},
		{storage, "gp2", "EBS:VolumeUsage.gp2", "GB-Mo", 0.10},
		{storage, "io1", "EBS:VolumeUsage.piops", "GB-Mo", 0.125},
		{operations, "io1", "EBS:VolumeP-IOPS.piops", "IOPS-Mo", 0.065},
		{storage, "io2", "EBS:VolumeUsage.io2", "GB-month", 0.125},
		{operations, "io2", "EBS:VolumeP-IOPS.io2", "IOPS-Mo", 0.065},
		{operations, "io2", "EBS:VolumeP-IOPS.io2.tier2", "IOPS-Mo", 0.0455},
		{operations, "io2", "EBS:VolumeP-IOPS.io2.tier3", "IOPS-Mo", 0.03185},
		{storage, "st1", "EBS:VolumeUsage.st1", "GB-Mo", 0.045},
		{storage, "sc1", "EBS:VolumeUsage.sc1", "GB-Mo", 0.015},
		{storage, "standard", "EBS:VolumeUsage", "GB-Mo", 0.05},
		{operations, "standard", "EBS:VolumeIOUsage", "IOs", 0.00000005},
	}
}

func newVolumeProduct(u volumeUsage, region string) (product, error) {
	var item itemJSON
	item.Product.ProductFamily = u.family
	sum := sha256.Sum256([]byte(region + u.usage))
	sku := base32.StdEncoding.EncodeToString(sum[:10])
	item.Product.SKU, item.ServiceCode, item.Version, item.PublicationDate = sku, serviceCode, "20261101000000", published
	item.Product.Attributes = map[string]string{
		"servicecode": serviceCode, "servicename": "Amazon Elastic Compute Cloud", "regionCode": region,
		"locationType": "AWS Region", "volumeApiName": u.volume, "usagetype": u.usage, "operation": "",
	}
	if u.family != "Storage" {
		item.Product.Attributes["group"] = "EBS " + strings.TrimPrefix(u.family, "Provisioned ")
	}
	price := strconv.FormatFloat(u.price, 'f', 10, 64)
	item.Terms.OnDemand = onDemand(sku, u.unit, price, fmt.Sprintf("$%g per %s of %s", u.price, u.unit, u.volume))
	return item.product()
}
