// Package pricing is the AWS Price List API of the local AWS (JSON 1.1, AWSPriceListService). It
// has the on-demand prices of EC2's Linux instances and of EBS volumes in one region, in the format of
// the real price list. The instances' prices are those of package builtin.
package pricing
