// Package gomodule builds programs of others from nested modules, each of which pins a version in
// its go.mod.
//
// Its place: packages karpenter and kueue build their controllers with it, once for each version.
package gomodule
