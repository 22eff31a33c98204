// Command infra is the CDK app that deploys Whittle. Its input is the context of the cdk command
// line and the file whittle.yaml. Its output is the template of a stack for each cluster, named Whittle-prod for
// the cluster prod.
//
//	cdk deploy -c clusters=prod
//
// A stack has functions, queues, rules, schedules, roles, access entries,
// alarms and a dashboard. There is one file for each of these concerns. settings.go lists the
// settings; configuration.go reads them.
//
// Invariants:
//   - The app looks nothing up, and needs no account. The template holds for every account and
//     region.
//   - Each function has its own role with the calls that it makes, and no others.
//   - Two clusters share nothing, so that a deployment or a removal touches those that it names.
//   - Each error names a key and a correct value in one line.
package main
