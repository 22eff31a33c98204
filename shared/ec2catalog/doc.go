// Package ec2catalog reads EC2's offer from AWS: instance types, their zones, and prices of instances
// and volumes. The function catalog stores it for the other functions. The command line plans with it.
//
// Flow: types.go, pricing.go and prices.go read; reader.go joins the facts.
package ec2catalog
