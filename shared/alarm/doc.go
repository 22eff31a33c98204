// Package alarm reads the CloudWatch alarms that freeze disruption. People who change how the alarms
// are read need it.
//
// Its place: provision has a Source. It asks CloudWatch once a minute, and after each event about an
// alarm. Package inventory stores the answer, and package freeze says what it means.
//
// Invariants:
//   - An event is a reason to ask, and nothing else. A lost, late, doubled or forged event does no harm.
//   - A reading is whole, or an error: an alarm on a page that is not read would pass for a missing one.
package alarm
