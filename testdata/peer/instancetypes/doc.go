// Package instancetypes compares the instance types of shared/catalog with those of Karpenter's AWS
// provider: every type of the table, of every AMI family, with many settings. It has tests alone.
package instancetypes

import _ "sigs.k8s.io/controller-runtime" // of the version that fits the newer Kubernetes modules
