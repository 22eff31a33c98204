// Package clustertest gives tests a real API server, with or without Whittle installed in it. Only
// tests import it.
package clustertest
