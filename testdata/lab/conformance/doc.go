// Package conformance compares the local AWS with two outside references: moto, an AWS in Python,
// and botocore's service models, which are AWS's own.
//
// The same calls go to both servers. The model must know every element of the local AWS's answers,
// with its type and values. An element that moto returns and the local AWS does not must be in a
// list of exceptions with its reason. The tests also drive the project's own clients against moto,
// and check that the generated types are fresh.
//
// The tests have the build tag conformance; `make conformance` runs them. They need Python 3.10 or
// later with venv, and the Python package index once.
package conformance
