// Package nodeclass decides how a deleted EC2NodeClass ends. It also finds the instance profiles
// and launch templates of classes that nothing uses any more. It is pure. It deletes late rather
// than early: a profile that is missing keeps nodes from joining.
package nodeclass
