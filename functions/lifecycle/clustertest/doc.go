// Package clustertest gives tests of functions a real API server with everything that Whittle
// installs, clients with a function's own rights, and ways to create objects, to act as the
// kubelet, and to cut a function off between any two calls. Only tests import it.
package clustertest
