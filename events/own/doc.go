// Package own has the events that Whittle itself publishes on EventBridge, for the automation of its
// users. Each type is the detail of one event, whose source is whittle. A sample of each is in the
// file of the same name.
//
// Its place: functions fill the types, and package shared/publish sends them. The package imports no
// other package of this module.
//
// Invariants:
//   - Version counts up when a field changes its meaning or goes. New fields do not change it.
//   - An event may come twice, and after a failure not at all: the cluster holds the truth.
package own
