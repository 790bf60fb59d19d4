package store

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/relaypdf/relaypdf/internal/guard"
)

// Task is periodic work that one process at a time does for all.
type Task struct {
	Name  string
	Every time.Duration
	// Do runs the task, within taskTerm. The next run continues unfinished work.
	Do func(ctx context.Context) error
}

const (
	// taskTerm is the time limit of a task. Its process owns it for a little longer, so that no two processes run
	// the same task.
	taskTerm = 5 * time.Minute
	// taskMargin is that little.
	taskMargin = 30 * time.Second
	// taskPollInterval is the interval at which a process looks for due tasks. Each process has its own phase, so that they
	// do not look at once.
	taskPollInterval = 5 * time.Second
)

// RunTasks runs the tasks when they are due, each on its own schedule, until ctx ends. Any number of processes may
// do so.
func (s *Store) RunTasks(ctx context.Context, tasks []Task) {
	var all sync.WaitGroup
	for _, task := range tasks {
		all.Go(func() {
			for ctx.Err() == nil {
				var wrong *ClockError // which keepTime logs once
				if _, err := s.RunTask(ctx, task); err != nil && ctx.Err() == nil && !errors.As(err, &wrong) {
					s.log.LogAttrs(ctx, slog.LevelError, "task failed", slog.String("task", task.Name),
						slog.Any("error", err))
				}

				interval := min(task.Every, taskPollInterval)
				guard.Pause(ctx, interval/2+rand.N(interval))
			}
		})
	}

	all.Wait()
}

// RunTask does a task if it is due and no other process is at it, and reports
// whether it did.
// With a wrong clock, nothing is done: the error is a *ClockError.
func (s *Store) RunTask(ctx context.Context, task Task) (done bool, err error) {
	if err := s.CheckClock(ctx); err != nil {
		return false, err
	}

	lease := s.NewID("task")
	mine, err := s.claimTask(ctx, task.Name, lease)
	if err != nil || !mine {
		return false, err
	}

	bounded, cancel := context.WithTimeout(ctx, taskTerm)
	defer cancel()
	fault := guard.Try(func() error { return task.Do(bounded) })
	return true, errors.Join(fault, s.endTask(context.WithoutCancel(ctx), task, lease, fault))
}

// claimTask claims a due task for its term. The first process to look creates its row.
func (s *Store) claimTask(ctx context.Context, name, lease string) (mine bool, err error) {
	now := s.now()
	var notDue bool
	err = s.read.NewRaw("SELECT EXISTS (SELECT 1 FROM tasks WHERE name = ?0 AND (due_at > ?1 OR leased_until > ?1))",
		name, toMicros(now)).Scan(ctx, &notDue)
	if err != nil || notDue {
		return false, err
	}

	err = s.inTx(ctx, func(ctx context.Context, tx txn) (err error) {
		mine, err = changed(tx.NewRaw(`INSERT INTO tasks AS t (name, due_at, lease, leased_until)
			VALUES (?0, ?1, ?2, ?3)
			ON CONFLICT (name) DO UPDATE SET lease = EXCLUDED.lease, leased_until = EXCLUDED.leased_until
			WHERE t.due_at <= ?1 AND t.leased_until <= ?1`,
			name, toMicros(now), lease, toMicros(now.Add(taskTerm+taskMargin))).Exec(ctx))
		return err
	})
	return mine, err
}

// endTask sets when the task is due again: soon if it failed.
func (s *Store) endTask(ctx context.Context, task Task, lease string, fault error) error {
	now := s.now()
	text := ""
	next := now.Add(task.Every)
	if fault != nil {
		text = clean(fault.Error(), 500)
		next = now.Add(min(task.Every, time.Minute))
	}

	return s.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.NewRaw(`UPDATE tasks SET due_at = ?, lease = '', leased_until = 0, ended_at = ?, error = ?
			WHERE name = ? AND lease = ?`,
			toMicros(next), toMicros(now), text, task.Name, lease).Exec(ctx)
		return err
	})
}

// MaintenanceTasks returns the store's own tasks: closing months and checking a closed one, making partitions, removing months
// after their retention, and deleting expired data. Failed checks are logged.
func (s *Store) MaintenanceTasks() []Task {
	const batch = 500
	sweep := func(ctx context.Context) error {
		_, err := s.DeleteOrphanBlobs(ctx, batch)
		return err
	}

	tasks := []Task{
		// Slow file storage stops only the tasks that delete files: each kind has its own task.
		{Name: "expire", Every: time.Minute, Do: func(ctx context.Context) error { return s.deleteRows(ctx, batch) }},
		{Name: "delete expired files", Every: time.Minute, Do: func(ctx context.Context) error { return rounds(ctx, batch, s.deleteExpiredFiles) }},
		{Name: "delete inputs of ended jobs", Every: time.Minute, Do: func(ctx context.Context) error { return rounds(ctx, batch, s.deleteSpentInputs) }},
		{Name: "sweep orphaned blobs", Every: time.Hour, Do: sweep},
		{Name: "make partitions", Every: 6 * time.Hour, Do: s.MakePartitions},
		{Name: "close months", Every: time.Hour, Do: s.CloseMonths},
		{Name: "check a closed month", Every: 24 * time.Hour, Do: s.checkSomeMonth},
	}

	if s.retention > 0 {
		tasks = append(tasks, Task{Name: "remove old months", Every: retentionEvery, Do: s.removeOldMonths})
	}
	return tasks
}

// checkSomeMonth checks a closed month, each day the next in turn.
func (s *Store) checkSomeMonth(ctx context.Context) error {
	var months []int64
	err := s.read.NewRaw("SELECT month FROM closed_months ORDER BY month").Scan(ctx, &months)
	if err != nil || len(months) == 0 {
		return err
	}

	at := month(months[dayOf(s.now())%int64(len(months))]).start()
	problems, err := s.CheckMonth(ctx, at)
	if err == nil {
		s.drift.Store(int64(len(problems)))
	}

	for _, problem := range problems {
		s.log.LogAttrs(ctx, slog.LevelError, "the ledger contradicts itself", slog.String("problem", problem))
	}
	return err
}
