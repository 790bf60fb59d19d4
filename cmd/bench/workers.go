package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"relaypdf/store"
	"relaypdf/store/blob"
	"relaypdf/store/storetest"
)

// workerFigures are those of processes with the role worker that share a queue on
// PostgreSQL, each of which prints one invoice at a time. What a job costs is the
// mean of all of the row's jobs.
type workerFigures struct {
	Processes int     `json:"processes"`
	PerSecond float64 `json:"jobsPerSecond"`
	// Predicted is the model's; the rows that it is made of have none.
	Predicted float64 `json:"predicted,omitempty"`
	CPU       float64 `json:"cpuMsPerJob"` // of workers, browsers and PostgreSQL
	Database  float64 `json:"databaseMsPerJob"`
	Others    float64 `json:"othersMsPerJob"` // of everything else on the machine, its kernel included
	Commits   float64 `json:"commitsPerJob"`
	Syncs     float64 `json:"syncsPerJob"` // of PostgreSQL's log
	LogBytes  float64 `json:"logBytesPerJob"`
	FileBytes float64 `json:"fileBytesPerJob"`
	Jobs      int     `json:"jobs"`
}

// modelFigures is what the model was made of.
type modelFigures struct {
	Others float64 `json:"othersCores"`     // processors that were busy before the row began
	CPU    float64 `json:"cpuMsPerJob"`     // of everything, but for those others
	Path   float64 `json:"cpuMsOnJobsPath"` // of CPU, what the job waits for
	Commit float64 `json:"commitMsPerJob"`  // in which others of its account wait
	Other  float64 `json:"elsewhereMsPerJob"`
	Busy   float64 `json:"cpuMsWhereAllAreBusy"`   // above CPU, with a process for each processor
	Crowd  float64 `json:"cpuMsPerJobAndDoubling"` // of processes, above the processors
}

const (
	// workerSlots is how many jobs a process works on at once here.
	workerSlots = 1
	// modelShare is how near a prediction should be.
	modelShare = 0.15
	// warmJobs are the documents by which a process has started everything: what its first
	// ones take besides is no job's.
	warmJobs = 80
	// looked is how long the machine is looked at before the row, while nothing is asked
	// of the service; testCommits are made to see how long one takes.
	looked      = 5 * time.Second
	testCommits = 300
	// workerPatience bounds the wait for a row's jobs.
	workerPatience = 10 * time.Minute
)

// workers measures jobs per second by processes beside what the model predicts.
func (l databases) workers(ctx context.Context, r *report) (err error) {
	address, drop, err := storetest.NewDatabase()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	dir, err := os.MkdirTemp(l.options.dir, "relaypdf-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	f := workerFleet{lab: l.lab, dir: dir, address: address}
	if f.key, err = f.fund(ctx); err != nil {
		return err
	}
	if f.db, err = sql.Open("pgx", address); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.db.Close()) }()
	if f.postgres, err = postmaster(ctx, f.db); err != nil {
		return err
	}
	others, commit, err := f.calm(ctx)
	if err != nil {
		return err
	}
	measured, err := f.rows(ctx, choose(l.lab, []int{1, 3, 6}, []int{1}))
	if err != nil {
		return err
	}
	model := f.model(measured[0], others, commit).crowded(measured[0].CPU/1000, measured[1:])
	r.Model = &modelFigures{model.others, 1000 * model.cpu, 1000 * model.path, 1000 * model.commit, 1000 * model.other, 1000 * model.busy, 1000 * model.crowd}
	predicted, err := f.rows(ctx, choose(l.lab, []int{2, 4, 8}, []int{2}))
	if err != nil {
		return err
	}
	for i := range predicted {
		predicted[i].Predicted = model.jobs(predicted[i].Processes)
	}
	r.Workers = slices.Concat(measured, predicted)
	slices.SortFunc(r.Workers, func(a, b workerFigures) int { return a.Processes - b.Processes })
	return nil
}

// rows measures so many processes, one number after another.
func (f workerFleet) rows(ctx context.Context, numbers []int) (rows []workerFigures, err error) {
	for _, processes := range numbers {
		f.say("jobs of %d worker processes", processes)
		row, err := f.measure(ctx, processes)
		if err != nil {
			return nil, fmt.Errorf("%d processes: %w", processes, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// workerFleet is what processes share.
type workerFleet struct {
	*lab

	dir, address, key string
	db                *sql.DB
	postgres          int // process
}

// fund makes an account with money and returns the secret of its key.
func (f workerFleet) fund(ctx context.Context) (key string, err error) {
	blobs, err := blob.NewDisk(filepath.Join(f.dir, "files"))
	if err != nil {
		return "", err
	}
	s, err := store.Open(ctx, store.Config{URL: f.address, DataDir: f.dir, Blobs: blobs})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return fundAccount(ctx, s, "workers@localhost")
}

// postmaster returns the process of the PostgreSQL server of a database.
func postmaster(ctx context.Context, db *sql.DB) (pid int, err error) {
	var folder string
	if err := db.QueryRowContext(ctx, "SHOW data_directory").Scan(&folder); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join(folder, "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(first)
}

// start starts a process with the roles on the shared data.
func (f workerFleet) start(ctx context.Context, roles string) (*server, error) {
	return startServer(ctx, f.options, f.dir, "RELAYPDF_DATABASE_URL="+f.address, "RELAYPDF_ROLES="+roles,
		"RELAYPDF_RENDER_SLOTS="+strconv.Itoa(workerSlots), "RELAYPDF_ENGINES=none")
}

// calm measures what is so before any job: how many processors are busy, and how many
// seconds a commit takes that follows another one.
func (f workerFleet) calm(ctx context.Context) (others, commit float64, err error) {
	before, began := machineCPU(), time.Now()
	select {
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	case <-time.After(choose(f.lab, looked, looked/10)):
	}
	others = (machineCPU() - before).Seconds() / time.Since(began).Seconds()
	if _, err := f.db.ExecContext(ctx, "CREATE TABLE bench_commits AS SELECT 0 AS n"); err != nil {
		return 0, 0, err
	}
	began = time.Now()
	for range testCommits {
		if _, err := f.db.ExecContext(ctx, "UPDATE bench_commits SET n = n + 1"); err != nil {
			return 0, 0, err
		}
	}
	return others, time.Since(began).Seconds() / testCommits, nil
}

// model is that of one process: what the machine did for a job beyond what it does
// anyway is the job's, whichever process it was. Others do not have more than they had
// beside that process.
func (f workerFleet) model(one workerFigures, others, commit float64) fleet {
	beside := one.Others / 1000 * one.PerSecond
	others = min(others, beside)
	return fleet{
		cores: f.slots, slots: workerSlots, others: others, cpu: one.CPU/1000 + (beside-others)/one.PerSecond, commit: one.Syncs * commit,
	}.calibrated(one.PerSecond)
}

// measure fills the queue, and then has so many processes empty it.
func (f workerFleet) measure(ctx context.Context, processes int) (row workerFigures, err error) {
	ctx, cancel := context.WithTimeout(ctx, workerPatience)
	defer cancel()
	warm := choose(f.lab, warmJobs, 0) * processes
	if err := f.fill(ctx, warm+choose(f.lab, 1000, 30)); err != nil {
		return row, err
	}
	before, err := f.costs(ctx, nil)
	if err != nil {
		return row, err
	}
	var workers []*server
	stop := func() (err error) {
		for _, w := range workers {
			err = errors.Join(err, w.stop())
		}
		workers = nil
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	for range processes {
		w, err := f.start(ctx, "worker")
		if err != nil {
			return row, err
		}
		workers = append(workers, w)
	}
	// What starting takes is no job's, and neither what the first documents of a process
	// take; a quick look has too few to leave any out.
	if !f.short {
		if err := f.await(ctx, "SELECT COUNT(*) >= $1 FROM jobs WHERE state = 'ended'", int(before.ended)+warm); err != nil {
			return row, err
		}
		if before, err = f.costs(ctx, workers); err != nil {
			return row, err
		}
	}
	if err := f.await(ctx, "SELECT COUNT(*) = 0 FROM jobs WHERE state <> 'ended'"); err != nil {
		return row, err
	}
	// A session of PostgreSQL tells what it did when it ends, and no oftener than each second before.
	after := f.spent(workers)
	if err := stop(); err != nil {
		return row, err
	}
	if err := f.await(ctx, "SELECT COUNT(*) = 1 FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'"); err != nil {
		return row, err
	}
	if err := f.count(ctx, &after); err != nil {
		return row, err
	}
	row = after.since(before)
	row.Processes = processes
	// The rate is that of jobs which ended while all processes had enough to do: after
	// the last one was ready, and before the last jobs.
	err = f.db.QueryRowContext(ctx, `WITH ended AS (
			SELECT ended_at, ROW_NUMBER() OVER (ORDER BY ended_at) AS n, COUNT(*) OVER () AS all_of_them FROM calls WHERE ended_at > $1
		) SELECT COALESCE((COUNT(*) - 1) / NULLIF((MAX(ended_at) - MIN(ended_at)) / 1e6, 0), 0) FROM ended WHERE n < all_of_them - $2`,
		before.at.UnixMicro(), processes).Scan(&row.PerSecond)
	if err == nil && row.PerSecond == 0 {
		err = errors.New("the jobs were over before all processes had started")
	}
	return row, err
}

// await asks again and again until the answer is yes.
func (f workerFleet) await(ctx context.Context, question string, args ...any) error {
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for yes := false; !yes; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", question, ctx.Err())
		case <-look.C:
		}
		if err := f.db.QueryRowContext(ctx, question, args...).Scan(&yes); err != nil {
			return err
		}
	}
	return nil
}

// fill puts jobs into the queue, by a process that is gone when they begin.
func (f workerFleet) fill(ctx context.Context, jobs int) (err error) {
	door, err := f.start(ctx, "api")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, door.stop()) }()
	body, err := json.Marshal(map[string]string{"html": invoice(), "response": "async"})
	if err != nil {
		return err
	}
	c := newClient(door.url)
	return repeat(ctx, inTurn, jobs, func(ctx context.Context, _ int) error {
		a, err := c.post(ctx, f.key, request{path: "/v1/pdf", body: body})
		if err == nil && a.status != http.StatusAccepted {
			err = fmt.Errorf("status %d: %s", a.status, a.text)
		}
		return err
	})
}

// workerCosts is what has been spent until a moment.
type workerCosts struct {
	at                                      time.Time
	workers, database, machine              time.Duration
	ended, commits, syncs, logBytes, stored float64
}

// costs looks at what has been spent, and what was done for it.
func (f workerFleet) costs(ctx context.Context, workers []*server) (c workerCosts, err error) {
	c = f.spent(workers)
	err = f.count(ctx, &c)
	return c, err
}

// spent looks at what processes have spent.
func (f workerFleet) spent(workers []*server) workerCosts {
	c := workerCosts{at: time.Now(), database: cpuOf(f.postgres), machine: machineCPU()}
	for _, w := range workers {
		c.workers += cpuOf(w.cmd.Process.Pid)
	}
	return c
}

// count adds what the database has done.
func (f workerFleet) count(ctx context.Context, c *workerCosts) error {
	return f.db.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM jobs WHERE state = 'ended'),
		(SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()),
		(SELECT wal_sync FROM pg_stat_wal), (SELECT wal_bytes FROM pg_stat_wal), (SELECT COALESCE(SUM(size), 0) FROM files)`).
		Scan(&c.ended, &c.commits, &c.syncs, &c.logBytes, &c.stored)
}

// since is what a job cost between two moments.
func (c workerCosts) since(before workerCosts) workerFigures {
	jobs := max(1, c.ended-before.ended)
	database := ms(c.database - before.database)
	ours := ms(c.workers-before.workers) + database
	return workerFigures{
		CPU: ours / jobs, Database: database / jobs, Others: max(0, ms(c.machine-before.machine)-ours) / jobs, Commits: (c.commits - before.commits) / jobs,
		Syncs: (c.syncs - before.syncs) / jobs, LogBytes: (c.logBytes - before.logBytes) / jobs, FileBytes: (c.stored - before.stored) / jobs, Jobs: int(jobs),
	}
}

func (r *report) writeWorkers(w io.Writer) {
	if len(r.Workers) == 0 {
		return
	}
	fmt.Fprintln(w, "\nJobs (invoices) of worker processes with one slot each, on one PostgreSQL and one folder of files. Predicted: docs/scale.md's model, from the rows without a prediction.")
	fmt.Fprint(w, "A job's processor time is that of workers, browsers and PostgreSQL.\n")
	if m := r.Model; m != nil {
		fmt.Fprintf(w, "The model: %.1f ms of processors for a job, the system's for it included, %.1f of them on its path; %+.1f where each processor has a process, %.1f more for each time that processes are twice as many as processors; %.1f in commits, %.1f elsewhere; %.2f processors busy with something else.\n",
			m.CPU, m.Path, m.Busy, m.Crowd, m.Commit, m.Other, m.Others)
	}
	fmt.Fprintln(w)
	table(w, "processes\tjobs/s\tpredicted\toff by\tgoal\t\tCPU ms\tof PostgreSQL\tothers' ms\tcommits\tsyncs\tlog bytes\tfile bytes", func(w io.Writer) {
		for _, f := range r.Workers {
			predicted, off, goal, result := "-", "-", "-", ""
			if f.Predicted > 0 {
				share := f.Predicted/f.PerSecond - 1
				predicted, off = fmt.Sprintf("%.1f", f.Predicted), fmt.Sprintf("%+.0f %%", 100*share)
				goal, result = fmt.Sprintf("%.0f %%", 100*modelShare), verdict(max(share, -share) <= modelShare)
			}
			fmt.Fprintf(w, "%d\t%.1f\t%s\t%s\t%s\t%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.0f\t%.0f\n",
				f.Processes, f.PerSecond, predicted, off, goal, result, f.CPU, f.Database, f.Others, f.Commits, f.Syncs, f.LogBytes, f.FileBytes)
		}
	})
}
