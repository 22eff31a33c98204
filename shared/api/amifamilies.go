package api

import (
	"strings"
)

// Values of an EC2NodeClass's amiFamily.
const (
	AMIFamilyAL2          = "AL2"
	AMIFamilyAL2023       = "AL2023"
	AMIFamilyBottlerocket = "Bottlerocket"
	AMIFamilyCustom       = "Custom"
	AMIFamilyWindows2019  = "Windows2019"
	AMIFamilyWindows2022  = "Windows2022"
	AMIFamilyWindows2025  = "Windows2025"
)

// Values of the label node.kubernetes.io/windows-build.
const (
	Windows2019Build = "10.0.17763"
	Windows2022Build = "10.0.20348"
	Windows2025Build = "10.0.26100"
)

// AliasVersionLatest is the version of an alias that follows every new release.
const AliasVersionLatest = "latest"

// Alias is an AMI alias taken apart.
//
// +kubebuilder:object:generate=false
type Alias struct {
	// Family is the AMI family as amiFamily writes it.
	Family string
	// Version is the release, or latest.
	Version string
}

// ParseAlias takes apart an alias such as al2023@latest, and reports whether it has
// the form family@version with a family that is known.
func ParseAlias(text string) (Alias, bool) {
	family, version, ok := strings.Cut(text, "@")
	if !ok || version == "" {
		return Alias{}, false
	}
	for _, known := range aliasFamilies() {
		if strings.ToLower(known) == family {
			return Alias{Family: known, Version: version}, true
		}
	}
	return Alias{}, false
}

// Alias is the alias that the class selects its images by, and false where it selects
// them otherwise.
func (c *EC2NodeClass) Alias() (Alias, bool) {
	for _, term := range c.Spec.AMISelectorTerms {
		if term.Alias != "" {
			return ParseAlias(term.Alias)
		}
	}
	return Alias{}, false
}

// AMIFamily is the family that settles how user data is written: amiFamily where it
// is set, else the alias's. It is empty where neither says, which Validate reports.
func (c *EC2NodeClass) AMIFamily() string {
	if c.Spec.AMIFamily != nil {
		return *c.Spec.AMIFamily
	}
	alias, _ := c.Alias()
	return alias.Family
}

// aliasFamilies are the AMI families that an alias can name. The alias writes them in
// lower case.
func aliasFamilies() []string {
	return []string{
		AMIFamilyAL2, AMIFamilyAL2023, AMIFamilyBottlerocket,
		AMIFamilyWindows2019, AMIFamilyWindows2022, AMIFamilyWindows2025,
	}
}

// amiFamilies are the values that amiFamily can have.
func amiFamilies() []string {
	return append(aliasFamilies(), AMIFamilyCustom)
}
