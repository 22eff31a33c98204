// Package formats checks what Whittle writes for other programs with the code of these programs:
// user data with nodeadm, and bearer tokens with EKS's authenticator.
package formats
