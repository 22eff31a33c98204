// Package chaos disturbs the local world in every way at once for a while, and then checks that it
// recovers.
//
// Pods come and go. EC2 reclaims spot instances, is short of capacity and refuses calls. All nodes
// drift at once. The control plane restarts. Functions are killed at work and have wrong clocks.
// Messages come late and twice.
//
// A seed determines the disturbances, their times and their targets. The effect on the cluster also
// depends on the machine.
//
// The local AWS is unkind, and reads from the API server's watch cache lag.
//
// At all times no NodeClaim has two live instances, no budget is violated, no NodePool exceeds its
// limit, nothing evicts a protected pod, and no node whose machine runs is out of service. A pod with a
// volume runs in the volume's zone, and no volume is attached to two nodes. At the end every pod runs;
// claims, instances and nodes belong together one to one; each volume is attached to its pod's node; no
// dead-letter queue holds a message; the logs give a reason for each node's start and end; and most
// disturbances had an effect.
//
// Time is not compressed. Only machines boot faster than on AWS, as in every local run.
package chaos
