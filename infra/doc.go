// Package infra is the CDK construct that deploys Whittle for a cluster, and the app that deploys a
// stack for each cluster of a configuration, named Whittle-prod for the cluster prod. NewWhittle adds
// the construct to a stack of one's own app. Folder app has the program that the CDK runs:
//
//	cdk deploy -c clusters=prod
//
// The app's input is the context of the cdk command line and the file whittle.yaml. settings.go lists
// the settings, configuration.go reads them, and WhittleProps carries them to the construct. A stack
// has functions, queues, rules, schedules, roles, access entries, alarms and a dashboard. There is one
// file for each of these concerns.
//
// Invariants:
//   - The app looks nothing up, and needs no account. The template holds for every account and
//     region.
//   - Each function has its own role with the calls that it makes, and no others.
//   - Two clusters share nothing, so that a deployment or a removal touches those that it names.
//   - Each error names a key or a property, and a correct value, in one line.
package infra
