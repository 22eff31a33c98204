// Package wire is the front door of the local AWS: one loopback HTTP server. It takes requests as
// the AWS SDKs and the aws and cdk command lines send them, and determines service, action and
// signer. It writes results and errors in the form of the service's protocol.
//
// The server is a simulator and says so in the Server header of every answer. It understands four
// families of protocols: EC2's query, the query protocol of IAM, STS and CloudFormation, JSON (with
// X-Amz-Target and as REST), and the REST XML of S3. See
// https://smithy.io/2.0/aws/protocols/index.html.
package wire
