// Package kueue builds and runs Kueue's own controller against the local control plane.
//
// Nothing of Kueue is changed but the folder of the metrics' certificate, which is fixed in its
// source. Its webhooks for Jobs and its own kinds are called, and its servers listen on the
// loopback address only.
//
// Its place: package world starts it. The nested module in testdata/kueue pins the version.
package kueue
