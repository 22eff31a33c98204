// Package catalog reads EC2's offer: instance types, zones and prices. It writes them to one
// ConfigMap, from which the functions that plan read them. A schedule wakes it once an hour.
//
// Flow: package ec2catalog reads; handler.go writes the catalogue.
//
// Invariants:
//   - Without types, offerings or zones the run fails, and the last catalogue stays.
//   - A price that cannot be read keeps its last value, or is the built-in one.
package catalog
