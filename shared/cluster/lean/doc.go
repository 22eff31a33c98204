// Package lean decodes lists of pods and nodes in Protocol Buffers, without the fields that no
// function reads. Those are most of a large cluster's bytes: managedFields, images, environments,
// probes, mounts, container states.
//
// The fields are dropped before the objects are decoded. Equal parts of pods, such as the specs of a
// workload, are decoded once and shared. Nobody may change a decoded object in place.
package lean
