// Package supervisor keeps a program of others running, as the kubelet keeps a container.
//
// Its place: packages karpenter and kueue run their controllers with it.
package supervisor
