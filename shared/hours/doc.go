// Package hours reads the times at which NodePools sleep and at which their nodes may go: windows by
// days and hours, windows by cron and duration, and cron schedules of budgets, all in a time zone.
// People who change how times are read need it.
//
// Every answer is by state: is this time inside of a window? A pass that is late, missing or doubled
// then changes nothing.
//
// # Clock changes
//
//   - A wall time is the first instant at which the clock shows it or a later time. One that a clock
//     change leaves out is the first instant after the gap. Of one that comes twice, the first counts.
//   - A window by days and hours begins and ends at wall times, so that it is an hour shorter or longer
//     on the nights of a clock change.
//   - A window by cron lasts its duration in elapsed time. A schedule whose hour is * also fires in the
//     repeated hour.
//
// The zone database is part of the binary, because a Lambda function may find none.
package hours
