// Package document reads files of YAML or JSON with one or many documents. It knows the line of
// each field, so that later stages can report a wrong field with file and line.
//
// It is the first stage of the command's reading: text -> document -> manifests and instancetypes.
// A Document's JSON is always valid.
package document
