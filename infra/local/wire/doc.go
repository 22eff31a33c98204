// Package wire is the front door of the local AWS: one loopback HTTP server that takes requests as the AWS SDKs, the aws
// and the cdk command lines send them, finds out which service and action they mean and who signed them, and writes
// results and errors in the form that the service's protocol prescribes.
//
// The server is a simulator and says so in the Server header of every answer. It understands four families of protocols:
// EC2's query, the query protocol of IAM, STS and CloudFormation, JSON (both with X-Amz-Target and as REST), and the
// REST XML of S3. See https://smithy.io/2.0/aws/protocols/index.html.
package wire
