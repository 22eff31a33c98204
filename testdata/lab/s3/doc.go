// Package s3 is the local AWS's S3 as a deployment uses it: one bucket of assets, which the cdk
// command line looks at and uploads to, whole or in parts. CloudFormation and Lambda read its objects.
//
// Requests name the bucket in the path. Everything else is refused by its method and path: reading
// and deleting by the API, other listings, other buckets.
package s3
