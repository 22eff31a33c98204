package infra

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"aead.dev/minisign"

	"github.com/whittle-dev/whittle/infra/signature"
	commitmentfile "github.com/whittle-dev/whittle/shared/commitment/file"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/spread"
)

// A value is text from the command line, or any value of a JSON or YAML file.

func sprint(value any) string {
	if number, ok := value.(float64); ok {
		return strconv.FormatFloat(number, 'f', -1, 64) // without an exponent, as users write it
	}
	return strings.TrimSpace(fmt.Sprint(value))
}

func wrong(value any, why string) error { return fmt.Errorf("\"%v\" %s", value, why) }

// isToken reports whether CloudFormation knows the text at the deployment only, as for an attribute of
// another construct. The CDK writes such texts as ${Token[...]}, and lists with #, until it synthesizes.
func isToken(text string) bool {
	return strings.Contains(text, "${Token[") || strings.Contains(text, "#{Token[")
}

func text(value any, what string) (string, error) {
	given, ok := value.(string)
	if !ok {
		return "", wrong(value, "is not "+what)
	}
	return given, nil
}

func truth(value any) (bool, error) {
	switch sprint(value) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, wrong(value, "is neither true nor false")
}

func oneOf(value any, words ...string) (string, error) {
	if given, ok := value.(string); ok && slices.Contains(words, given) {
		return given, nil
	}
	return "", wrong(value, "is unknown: "+strings.Join(words, " and ")+" are known")
}

func architecture(value any) (string, error) {
	if value == "amd64" {
		return "", errors.New(`"amd64" is x86_64 to Lambda`)
	}
	return oneOf(value, "arm64", "x86_64")
}

// releaseKey accepts a public key of minisign: the text of its file, or its last line alone.
func releaseKey(value any) (*minisign.PublicKey, error) {
	given, err := text(value, "a public key of minisign")
	if err != nil {
		return nil, err
	}
	key, err := signature.ParseKey(given)
	if err != nil {
		return nil, wrong(value, "is "+err.Error())
	}
	return &key, nil
}

// list accepts a list, or a text with commas.
func list(value any) ([]string, error) {
	items, ok := value.([]any)
	if !ok {
		given, ok := value.(string)
		if !ok {
			return nil, wrong(value, "is no list")
		}
		for item := range strings.SplitSeq(given, ",") {
			items = append(items, item)
		}
	}
	var texts []string
	for _, item := range items {
		given, ok := item.(string)
		if !ok {
			return nil, wrong(item, "is no text")
		}
		if given = strings.TrimSpace(given); given != "" {
			texts = append(texts, given)
		}
	}
	return texts, nil
}

// pairs accepts a map, or a text such as key=value,key=value.
func pairs(value any) (map[string]any, error) {
	if given, ok := value.(map[string]any); ok {
		return given, nil
	}
	items, err := list(value)
	if err != nil {
		return nil, err
	}
	found := map[string]any{}
	for _, item := range items {
		key, rest, ok := strings.Cut(item, "=")
		if !ok {
			return nil, wrong(item, "has no =")
		}
		found[strings.TrimSpace(key)] = strings.TrimSpace(rest)
	}
	return found, nil
}

// tags accepts the keys and values that AWS accepts, except AWS's own.
// https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html
func tags(value any) (map[string]string, error) {
	given, err := pairs(value)
	if err != nil {
		return nil, err
	}
	allowed := regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`)
	read := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		content := sprint(given[key])
		switch {
		case key == "" || len(key) > 128 || !allowed.MatchString(key) || strings.HasPrefix(strings.ToLower(key), "aws:"):
			return nil, wrong(key, "is no key of a tag: 1 to 128 letters, digits, spaces and _.:/=+-@, and not aws: first")
		case len(content) > 256 || !allowed.MatchString(content):
			return nil, wrong(content, "is no value of the tag "+key+": up to 256 letters, digits, spaces and _.:/=+-@")
		}
		read[key] = content
	}
	return read, nil
}

func memory(value any) (map[string]float64, error) {
	given, err := pairs(value)
	if err != nil {
		return nil, err
	}
	read := map[string]float64{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(functionNames(), name) {
			return nil, wrong(name, "is no function: "+strings.Join(functionNames(), ", ")+" are")
		}
		// https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
		size, err := strconv.Atoi(sprint(given[name]))
		if err != nil || size < 128 || size > 10240 {
			return nil, wrong(given[name], "is no memory size of "+name+": whole MB from 128 to 10240")
		}
		read[name] = float64(size)
	}
	return read, nil
}

// retention accepts the numbers of days that CloudWatch Logs accepts.
// https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html
func retention(value any) (float64, error) {
	allowed := []int{
		1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
	}
	days, err := strconv.Atoi(sprint(value))
	if err != nil || !slices.Contains(allowed, days) {
		return 0, wrong(
			value,
			"is no number of days that CloudWatch Logs keeps: "+strings.Trim(
				strings.ReplaceAll(fmt.Sprint(allowed), " ", ", "), "[]",
			)+" are",
		)
	}
	return float64(days), nil
}

// ids accepts a list of EC2 ids of one kind, such as subnet-0a1b2c3d.
func ids(value any, kind string) ([]string, error) {
	given, err := list(value)
	if err != nil {
		return nil, err
	}
	for _, id := range given {
		if !isToken(id) && !regexp.MustCompile(`^`+kind+`-[0-9a-f]{8,17}$`).MatchString(id) {
			return nil, wrong(id, "is no id that begins with "+kind+"-")
		}
	}
	return given, nil
}

// arnOf accepts the ARN of a service's resource whose name has the given beginning.
func arnOf(value any, service, beginning string) (string, error) {
	given, ok := value.(string)
	if ok && isToken(given) {
		return given, nil
	}
	// The account of AWS's own policies is "aws".
	if !ok || !regexp.MustCompile(
		`^arn:aws[a-z-]*:`+service+`:[a-z0-9-]*:([0-9]{12}|aws):`+beginning+`[A-Za-z0-9_.+=,@/-]+$`,
	).MatchString(given) {
		return "", wrong(value, "is no ARN of that kind")
	}
	return given, nil
}

// address accepts an address for mail. SNS itself checks no more: it sends a mail that has to be confirmed.
func address(value any) (string, error) {
	given, ok := value.(string)
	if ok && isToken(given) {
		return given, nil
	}
	if !ok || !regexp.MustCompile(`^[^@\s]+@[^@\s]+\.[^@\s]+$`).MatchString(given) {
		return "", wrong(value, "is no address for mail")
	}
	return given, nil
}

// eventBus accepts a name or an ARN. A token could stand for either, and the role's rights tell them
// apart.
func eventBus(value any) (string, error) {
	if given, ok := value.(string); ok && isToken(given) {
		return "", wrong(value, "is known at the deployment only: give the name of the bus as text")
	}
	if given, ok := value.(string); ok && regexp.MustCompile(`^[A-Za-z0-9._-]{1,256}$`).MatchString(given) {
		return given, nil
	}
	return arnOf(value, "events", "event-bus/")
}

// profileName accepts the name of an instance profile.
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateInstanceProfile.html
func profileName(value any) (string, error) {
	given, ok := value.(string)
	if !ok || !regexp.MustCompile(`^[A-Za-z0-9_+=,.@-]{1,128}$`).MatchString(given) {
		return "", wrong(value, "is no name of an instance profile: an ARN or a path is none")
	}
	return given, nil
}

// terminateFirst accepts a list of reasons.
func terminateFirst(value any) ([]string, error) {
	reasons, err := list(value)
	if err != nil {
		return nil, err
	}
	for _, reason := range reasons {
		if _, err := oneOf(reason, "Drifted", "Unhealthy"); err != nil {
			return nil, err
		}
	}
	return reasons, nil
}

// nodePools accepts a list of names of NodePools. They are values of a label, and have its length.
func nodePools(value any) ([]string, error) {
	names, err := list(value)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$`).MatchString(name) {
			return nil, wrong(name, "is no name of a NodePool")
		}
	}
	if len(names) > metrics.MaximumPools {
		return nil, fmt.Errorf("%d NodePools are too many: name at most %d", len(names), metrics.MaximumPools)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// defaultSpread accepts a list of topology spread constraints, or its text in YAML or JSON. It returns
// the list in JSON.
func defaultSpread(value any) (string, error) {
	given, isText := value.(string)
	if !isText {
		content, err := json.Marshal(value)
		if err != nil {
			return "", wrong(value, "is no list")
		}
		given = string(content)
	}
	read, err := spread.Parse(given)
	if err != nil {
		return "", fmt.Errorf("%s: %w", given, err)
	}
	if len(read) == 0 {
		return "", nil
	}
	content, err := json.Marshal(read)
	return string(content), err
}

// keys accepts a list of ARNs of KMS keys.
func keys(value any) ([]string, error) {
	given, err := list(value)
	if err != nil {
		return nil, err
	}
	for _, key := range given {
		if _, err := arnOf(key, "kms", "key/"); err != nil {
			return nil, err
		}
	}
	return given, nil
}

// roles accepts a list of ARNs of roles.
func roles(value any) ([]string, error) {
	given, err := list(value)
	if err != nil {
		return nil, err
	}
	for _, role := range given {
		if _, err := arnOf(role, "iam", "role/"); err != nil {
			return nil, err
		}
	}
	return given, nil
}

// imageParameters accepts a list of absolute parameter names. A name may end in *.
func imageParameters(value any) ([]string, error) {
	names, err := list(value)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		// A * alone would open every parameter, and parameters may be secrets.
		if !regexp.MustCompile(`^(/[a-zA-Z0-9_.-]+)+(/?\*)?$`).MatchString(name) {
			return nil, wrong(name, "is no name of a parameter that begins with / and may end with *")
		}
	}
	return names, nil
}

// serviceAccounts accepts a list of NAMESPACE/NAME.
func serviceAccounts(value any) (string, error) {
	names, err := list(value)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if !regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?/[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`).MatchString(name) {
			return "", wrong(name, "is no service account: write NAMESPACE/NAME")
		}
	}
	return strings.Join(names, ","), nil
}

// number accepts a value that passes check.
func number(value any, what string, check func(text string) bool) (string, error) {
	given := sprint(value)
	if !check(given) {
		return "", wrong(value, "is not "+what)
	}
	return given, nil
}

// percent accepts a percentage.
func percent(value any) (string, error) {
	return number(value, "a percentage from 0 to 100", func(text string) bool {
		percent, err := strconv.ParseFloat(text, 64)
		return err == nil && percent >= 0 && percent <= 100
	})
}

// dollarsPerHour accepts a price. Zero is none.
func dollarsPerHour(value any) (string, error) {
	given, err := number(value, "a price in $/h, zero or more", func(text string) bool {
		price, err := strconv.ParseFloat(text, 64)
		return err == nil && price >= 0 && price <= 1e9
	})
	if price, _ := strconv.ParseFloat(given, 64); price == 0 {
		given = ""
	}
	return given, err
}

// quietAfter accepts times in which an instance may boot, and not so long that a watch hardly ends.
func quietAfter(value any) (time.Duration, error) {
	d, err := time.ParseDuration(sprint(value))
	if err != nil {
		return 0, wrong(value, "is not a duration: give a number with its unit")
	}
	if d < 10*time.Second || d > time.Hour {
		return 0, wrong(d, "is not between 10s and 1h")
	}
	return d, nil
}

// commitmentsOf reads whose commitments count: nobody's, the account's, or those of a file, which are
// returned packed.
func commitmentsOf(value any) (count bool, packed string, err error) {
	given, isText := value.(string)
	switch {
	case given == commitmentsOff || given == commitmentsOfAccount:
		return given == commitmentsOfAccount, "", nil
	case !isText || !slices.Contains([]string{".json", ".yaml", ".yml"}, strings.ToLower(filepath.Ext(given))):
		return false, "", wrong(value, "is unknown: off, account, and the path of a .json or .yaml file are known")
	}
	content, err := os.ReadFile(given)
	if err != nil {
		return false, "", err
	}
	read, err := commitmentfile.Read(content)
	if err != nil {
		return false, "", fmt.Errorf("%s: %w", given, err)
	}
	if packed, err = commitmentfile.Pack(read); err != nil {
		return false, "", fmt.Errorf("%s: %w", given, err)
	}
	return true, packed, nil
}
