// Package logs is the local account's CloudWatch Logs: groups, streams and events in bounded memory (see maximumEvents), read with
// GetLogEvents and FilterLogEvents, so that `aws logs tail GROUP --follow` works against the local server.
//
// Filter patterns are the unstructured ones: terms that must all be there, "quoted phrases", ?any-of terms and -excluded terms.
// JSON and space-delimited patterns, subscriptions, metric filters and Insights are refused or not there.
package logs
