// Package commitment works out what Reserved Instances and Savings Plans pay for: how AWS applies them to the
// instances that run in an account, and what is left of each for more.
//
// Its place: functions/catalog reads the commitments and inventory stores them. Planning functions list the
// account's instances, and apply the commitments to them. The catalogue makes offerings of what is left. It is a
// deciding package.
//
// Sources: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/apply_ri.html and
// https://docs.aws.amazon.com/savingsplans/latest/userguide/sp-applying.html
//
// Invariants:
//   - The result depends on the arguments only. The caller passes the time.
//   - What is not known counts as not left: a mistake costs money, and keeps no pod from its node.
//   - No unit is counted twice. Used and left together are at most what was committed.
package commitment
