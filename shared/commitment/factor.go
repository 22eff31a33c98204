package commitment

import (
	"strconv"
	"strings"

	"github.com/whittle-dev/whittle/shared/catalog"
)

// quarter is how many units a normalization factor of one is: nano, the smallest size, has 0.25.
const quarter = 4

// smallFactors are the normalization factors of sizes below xlarge, in units.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/apply_ri.html
func smallFactors(size string) int {
	switch size {
	case "nano":
		return quarter / 4
	case "micro":
		return quarter / 2
	case "small":
		return quarter
	case "medium":
		return 2 * quarter
	case "large":
		return 4 * quarter
	}
	return 0
}

// unitsOf is the normalization factor of the instance type, in units. It is zero for bare metal without a number, and
// for sizes that are not known: such a type is not exchanged for others.
func unitsOf(instanceType string) int {
	_, size, _ := strings.Cut(instanceType, ".")
	if units := smallFactors(size); units > 0 {
		return units
	}
	size = strings.TrimPrefix(size, "metal-")
	if number, large := strings.CutSuffix(size, "xlarge"); large {
		return xlarge(number)
	}
	if number, large := strings.CutSuffix(size, "xl"); large { // of metal-24xl
		return xlarge(number)
	}
	return 0
}

// UnitsOf is the normalization factor of the instance type, as a multiple of the smallest one. It is zero
// for sizes without one.
func UnitsOf(instanceType string) int { return unitsOf(instanceType) }

// xlarge is the factor of a number of xlarge: eight for each.
func xlarge(number string) int {
	if number == "" {
		return 8 * quarter
	}
	n, err := strconv.Atoi(number)
	if err != nil || n <= 0 || n > 1024 {
		return 0
	}
	return n * 8 * quarter
}

// isExact reports whether Reserved Instances of the family are not exchanged for other sizes. Of newer accelerated
// families little is known, so that all of them count as exact: that errs toward on-demand prices.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/apply_ri.html
func isExact(family string) bool {
	switch catalog.FamilyLetters(family) {
	case "g", "gr", "p", "inf", "trn", "dl", "vt", "f", "u", "mac", "hpc":
		return true
	}
	return false
}
