// Package schedulertest tests the planner against the real kube-scheduler, for tests.
//
// Each file of testdata is a Scenario: a cluster, and pods that wait in it. The tests create a
// scenario in a control plane and wait until the scheduler finds no node for the pods. They plan,
// create the planned nodes as Node objects, and watch where the scheduler binds the pods. No kubelet
// runs. The binding of a pod is all that they need.
//
// Scenarios and Scenario.Snapshot give other tests the same clusters without a control plane.
//
// This command plays one scenario and prints what happened:
//
//	go test -v -count=1 -run 'TestSchedulerBindsThePlan/spread-zone$' ./shared/planner/schedulertest
package schedulertest
