// Package s3 is the local AWS's S3 as deployments use it: buckets and objects on disk, whole and
// multipart uploads, listings, and the bucket settings that the cdk command line checks.
//
// Requests may name the bucket in the path or in the host. There are no versions, access control
// lists or copies.
package s3
