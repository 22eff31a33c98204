package fleet

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// describedAtOnce is how many ids one call names. EC2 advises against calls with more than 1,000.
const describedAtOnce = 100

// Described is EC2's answer about instances that were asked for by id.
type Described struct {
	// Found are the instances, whatever their tags and states. EC2 describes a terminated instance
	// for about an hour.
	Found []Instance
	// Absent are the ids that EC2 does not know. A new instance may be absent for some seconds.
	Absent []string
}

// Describe reads the instances with the ids, without any filter. With an error the answer may be
// about a part of the ids, and it is right for that part.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstances.html
func (c *Client) Describe(ctx context.Context, ids ...string) (Described, error) {
	var all Described
	var failed []error
	for some := range slices.Chunk(ids, describedAtOnce) {
		failed = append(failed, c.describe(ctx, &all, some))
	}
	return all, errors.Join(failed...)
}

// describe adds EC2's answer about the ids. A single unknown id fails a whole call. The others are
// then asked for without it.
func (c *Client) describe(ctx context.Context, into *Described, ids []string) error {
	var found []Instance
	pages := ec2.NewDescribeInstancesPaginator(c.ec2, &ec2.DescribeInstancesInput{InstanceIds: ids})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if IsGone(err) {
			return c.describeWithout(ctx, into, ids, absentIn(ids, message(err)))
		}
		if err != nil {
			return fmt.Errorf("describing %d instances: %w", len(ids), err)
		}
		for _, reservation := range page.Reservations {
			for _, described := range reservation.Instances {
				found = append(found, instance(described))
			}
		}
	}
	into.Found = append(into.Found, found...)
	return nil
}

// describeWithout goes on after a call for the ids failed, because EC2 does not know at least one
// of them. It asks for halves where EC2's message does not tell which.
func (c *Client) describeWithout(ctx context.Context, into *Described, ids, absent []string) error {
	if len(ids) == 1 {
		absent = ids
	}
	if len(absent) > 0 {
		into.Absent = append(into.Absent, absent...)
		left := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(absent, id) })
		if len(left) == 0 {
			return nil
		}
		return c.describe(ctx, into, left)
	}
	middle := len(ids) / 2
	return errors.Join(c.describe(ctx, into, ids[:middle]), c.describe(ctx, into, ids[middle:]))
}

// absentMessage is EC2's message about ids that it does not know. Its form is not documented.
var absentMessage = regexp.MustCompile(`^The instance IDs? '([^']+)' do(?:es)? not exist\.?$`)

// absentIn returns the ids that the message says EC2 does not know. It returns none for a message
// of another form.
func absentIn(ids []string, message string) []string {
	named := absentMessage.FindStringSubmatch(message)
	if named == nil {
		return nil
	}
	absent := strings.Split(named[1], ", ")
	asked := func(id string) bool { return slices.Contains(ids, id) }
	if !slices.ContainsFunc(absent, func(id string) bool { return !asked(id) }) {
		return absent
	}
	return nil
}
