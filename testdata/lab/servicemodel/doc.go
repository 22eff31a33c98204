// Package servicemodel reads AWS's published service models and generates Go types from them.
//
// botocore publishes the models as JSON. The generator reads the list of types that a service of
// the local AWS holds, and looks up the names and types of their members. A service holds a few
// members of each type only, and refuses requests with others. So the list names the members, and
// the model supplies everything else. The conformance tests compare answers with the same models.
package servicemodel
