// Package logs is the local account's CloudWatch Logs: groups, streams and events in bounded memory
// (see maximumEvents). GetLogEvents and FilterLogEvents read them, so that `aws logs tail GROUP
// --follow` works against the local server.
//
// Filter patterns are the unstructured ones: required terms, "quoted phrases", ?any-of terms and
// -excluded terms. JSON and space-delimited patterns, subscriptions, metric filters and Insights
// are refused or missing.
package logs
