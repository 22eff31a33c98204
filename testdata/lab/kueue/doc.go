// Package kueue builds and runs Kueue's own controller, and JobSet's, against the local control
// plane.
//
// Nothing of them is changed but the folder of Kueue's metrics' certificate, which is fixed in its
// source. Their webhooks for Jobs, JobSets and Kueue's kinds are called, and their servers listen
// on the loopback address only.
//
// Its place: package world starts them. The nested module in testdata/kueue pins the versions.
package kueue
