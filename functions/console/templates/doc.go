// Package templates prints what kubectl's forms with a template choose of an object: jsonpath,
// jsonpath-as-json and custom-columns, and their variants that read the template from a file. The
// meaning of a template is kubectl's: missing fields are empty, or <none> in a column.
package templates
