// Package control turns what a person orders for a whole cluster into changes of the ConfigMap
// whittle-control.
//
// Its place: `whittle sleep`, `wake`, `freeze` and `thaw` write the changes. Functions read the
// ConfigMap with package inventory. The package is pure.
package control
