// Package conformance holds the local AWS against two that others made: moto, an AWS in Python, and botocore's service models, which are AWS's own.
//
// The same calls go to both servers. What the local AWS answers must be known to the model, with the right types and words; and an element that moto
// answers and the local AWS does not must be in a list of exceptions with its reason. Tests with the build tag conformance do it, and drive the
// project's own clients against moto; `make conformance` runs them. They need Python 3.10 or later with venv, and the Python package index once.
package conformance
