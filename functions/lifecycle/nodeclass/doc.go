// Package nodeclass decides how a deleted EC2NodeClass ends, and which of the instance profiles and
// launch templates that were made in AWS for classes nothing uses any more. It is pure. It deletes
// late rather than early: a profile that is missing keeps nodes from joining.
package nodeclass
