// Package s3 is the local AWS's S3, as far as deployments need it: buckets and objects on disk, whole and in parts, listed and
// read back, with the questions that the cdk command line asks about a bucket before it trusts it.
//
// Requests may name the bucket in the path or in the host. There are no versions, access control lists or copies.
package s3
