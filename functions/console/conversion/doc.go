// Package conversion prints the objects of files as manifests of karpenter.sh/v1.
//
// Objects of older kinds become NodePools, EC2NodeClasses and NodeClaims, in the place of the old
// object. A comment stands at each change of meaning, with the old field and the remedy. Everything
// else stays as it is, so that a second conversion changes nothing.
package conversion
