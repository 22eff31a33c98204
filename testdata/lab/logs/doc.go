// Package logs is the local account's CloudWatch Logs: groups, streams and events in bounded memory
// (see maximumEvents). `aws logs tail GROUP --follow` works against the local server. All other
// calls, filter patterns and pages are refused.
package logs
