// Package builtin provides a catalogue of instance types that needs neither a cluster nor AWS. Its
// result is the same on every machine. The offline `whittle plan` uses it, and tests do.
//
// Its table has facts about real EC2 instance types as us-east-1 offers them: sizes, network limits,
// accelerators, storage, zones and on-demand prices. Spot prices are invented. The local EC2 serves
// the same table. The supplement has what EC2 itself does not tell; package ec2catalog adds it to
// EC2's answers.
//
// The module in generate makes instance-types.csv and supplement.csv. README.md says where each
// column comes from. Names are those of EC2's DescribeInstanceTypes
// (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceTypeInfo.html).
package builtin
