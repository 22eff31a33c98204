// Package widget renders the view of a cluster as the HTML of a CloudWatch custom widget, in light
// and in dark. The HTML has no script and includes its styles. Text from the cluster is escaped.
package widget
