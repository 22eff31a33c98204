package widget

import (
	"github.com/whittle-dev/whittle/functions/console/view"
)

// maximumBounds limits the tables of limits and of commitments.
const maximumBounds = 25

// limits are the fullest limits.
type limits struct {
	Rows []limitRow
	More int
}

type limitRow struct {
	Owner, Resource, Most, Left string
	Used                        *meter
}

func limitsOf(shown *view.View) *limits {
	list, more := shown.Fullest(maximumBounds)
	if len(list) == 0 {
		return nil
	}
	made := &limits{More: more}
	for i := range list {
		one := &list[i]
		made.Rows = append(made.Rows, limitRow{
			Owner: one.Owner(), Resource: one.Resource, Most: one.Most, Left: one.Left,
			Used: &meter{Percent: percent(one.Part, 1), Part: one.Used, Of: one.Most},
		})
	}
	return made
}

// commitments are those with the largest idle parts.
type commitments struct {
	Sentence string
	Rows     []commitmentRow
	More     int
}

type commitmentRow struct {
	ID, Kind, Covers, Price, Own, Others, Idle, Ends string
}

func commitmentsOf(shown *view.View) *commitments {
	if shown.Commitments == nil {
		return nil
	}
	list, more := shown.Commitments.MostIdle(maximumBounds)
	made := &commitments{Sentence: shown.Commitments.Text(shown.Age(shown.Commitments.Time)), More: more}
	for i := range list {
		one := &list[i]
		made.Rows = append(made.Rows, commitmentRow{
			ID: one.ID, Kind: one.Kind, Covers: one.Covers, Price: dollars(one.PerHour), Own: dollars(one.OwnPerHour),
			Others: dollars(one.OthersPerHour), Idle: dollars(one.IdlePerHour), Ends: view.EndText(one),
		})
	}
	return made
}
