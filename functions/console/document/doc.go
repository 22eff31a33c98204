// Package document reads files that hold YAML or JSON, one document or many, and
// knows where in them each field stands: whoever finds something wrong with a field can
// say in which file and on which line.
package document
