// Package functiontest gives tests of functions a real API server with everything that Whittle
// installs. Its clients have a function's own rights. Its helpers create objects, act as the
// kubelet, and cut a function off between any two calls. Only tests import it.
package functiontest
