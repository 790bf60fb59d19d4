package main

import (
	"container/heap"
	"math"
	"math/rand/v2"
)

// A model of the service: jobs go from one station to the next, wait there for a
// server and keep it for a time. What a fleet of processes does is simulated from
// what one of them was measured to do (docs/scale.md).

// station is something that jobs share: processors, a disk, a database.
type station struct {
	servers int     // jobs it serves at once; 0: any number, nobody waits
	mean    float64 // seconds that a job takes of a server
	behind  float64 // seconds of a server that a job leaves to be done when it goes on
	// phases shapes the times: they are sums of so many exponential ones, and vary by
	// the mean over the root of that. 1 is exponential, 0 counts as 1.
	phases int
}

// load says how jobs come: a fixed number of them, each of which begins anew when
// it has been to all stations, or new ones at random times that leave then.
type load struct {
	circulating int     // jobs under way at any time
	rate        float64 // new jobs a second, where none circulate
}

// outcome is what a simulation saw.
type outcome struct {
	rate   float64 // jobs a second that have been to all stations
	wait   float64 // seconds that a job waited for servers, in the mean
	within float64 // seconds that a job took, in the mean
}

// simulated is a job under way.
type simulated struct {
	at             int     // station
	begun          float64 // when it came
	asked          float64 // when it came to the station
	waited         float64 // for servers, so far
	isTheNextComer bool    // stands for the time at which a new job comes
	isLeftBehind   bool    // stands for what a job has left at its station
}

// moment is when a job leaves a station.
type moment struct {
	time float64
	job  *simulated
}

type moments []moment

func (m moments) Len() int           { return len(m) }
func (m moments) Less(i, j int) bool { return m[i].time < m[j].time }
func (m moments) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *moments) Push(x any) {
	if at, ok := x.(moment); ok { // container/heap hands on what it was given
		*m = append(*m, at)
	}
}
func (m *moments) Pop() any {
	old := *m
	last := old[len(old)-1]
	*m = old[:len(old)-1]
	return last
}

// simulation is a run of the model.
type simulation struct {
	stations []station
	load     load
	random   *rand.Rand
	now      float64
	next     moments
	busy     []int          // servers of each station
	waiting  [][]*simulated // in the order in which they came
	ended    int
	sum      outcome // of those that have ended: waits and times
}

// simulate lets so many jobs end after a fifth as many that do not count. The same
// arguments have the same outcome.
func simulate(stations []station, l load, jobs int) outcome {
	s := &simulation{
		stations: stations, load: l, random: rand.New(rand.NewPCG(16, 2026)), //nolint:gosec // Nothing secret depends on it.
		busy: make([]int, len(stations)), waiting: make([][]*simulated, len(stations)),
	}
	for range l.circulating {
		s.enter(&simulated{})
	}
	if l.circulating == 0 {
		s.comeLater()
	}
	s.run(jobs / 5)
	begin := s.now
	s.ended, s.sum = 0, outcome{}
	s.run(jobs)
	n := float64(s.ended)
	return outcome{rate: n / (s.now - begin), wait: s.sum.wait / n, within: s.sum.within / n}
}

// run goes on until so many jobs have ended.
func (s *simulation) run(jobs int) {
	for s.ended < jobs {
		m, ok := heap.Pop(&s.next).(moment)
		if !ok {
			return // There are moments only.
		}
		s.now = m.time
		if m.job.isTheNextComer {
			s.enter(&simulated{begun: s.now})
			s.comeLater()
			continue
		}
		s.leave(m.job)
	}
}

// comeLater has a new job come after a random time.
func (s *simulation) comeLater() {
	heap.Push(&s.next, moment{s.now + s.random.ExpFloat64()/s.load.rate, &simulated{isTheNextComer: true}})
}

// enter brings a job to its station: it is served, or waits.
func (s *simulation) enter(j *simulated) {
	j.asked = s.now
	at := s.stations[j.at]
	if at.servers > 0 && s.busy[j.at] == at.servers {
		s.waiting[j.at] = append(s.waiting[j.at], j)
		return
	}
	s.serve(j)
}

func (s *simulation) serve(j *simulated) {
	at := s.stations[j.at]
	s.busy[j.at]++
	j.waited += s.now - j.asked
	phases, mean := max(1, at.phases), at.mean
	if j.isLeftBehind {
		mean = at.behind
	}
	took := 0.0
	for range phases {
		took += s.random.ExpFloat64() * mean / float64(phases)
	}
	heap.Push(&s.next, moment{s.now + took, j})
}

// leave brings a job to its next station, or to its end, and lets the next one be
// served.
func (s *simulation) leave(j *simulated) {
	from := j.at
	s.busy[from]--
	if line := s.waiting[from]; len(line) > 0 {
		s.waiting[from] = line[1:]
		s.serve(line[0])
	}
	if j.isLeftBehind {
		return
	}
	if s.stations[from].behind > 0 {
		s.enter(&simulated{at: from, isLeftBehind: true})
	}
	if j.at++; j.at < len(s.stations) {
		s.enter(j)
		return
	}
	s.ended++
	s.sum.wait += j.waited
	s.sum.within += s.now - j.begun
	if s.load.circulating > 0 {
		s.enter(&simulated{begun: s.now})
	}
}

const (
	// modelJobs are simulated for one figure.
	modelJobs = 40_000
	// jobPhases: what the same document takes varies by half.
	jobPhases = 4
)

// fleet predicts how many jobs a second processes bring to their end that have
// enough to do. Times are seconds.
type fleet struct {
	cores  int     // of the machine that all of them are on
	slots  int     // jobs that a process works on at once
	others float64 // processors that are busy with something else
	cpu    float64 // of processors for a job, the database's and the system's for it included
	commit float64 // in which no other job of the account goes on: its row is locked until the disk has it
	path   float64 // of cpu, what the job itself waits for; the rest is done beside it
	other  float64 // that the job takes besides, and nobody waits for
	busy   float64 // of processors that it takes where each has a process, above cpu; below it where they sleep less often
	crowd  float64 // of processors that it takes besides for each time that the processes are twice as many as the processors
}

// crowded says what a job takes of processors by what it took with at least as many
// processes as there are: the line through the rows that is nearest to them. One process
// alone took one. It takes more with each doubling, as half of the caches that a process
// had is another's then.
func (f fleet) crowded(one float64, rows []workerFigures) fleet {
	var n, x, y, xx, xy float64
	for _, row := range rows {
		if row.Processes >= f.cores {
			d, more := f.doublings(row.Processes), row.CPU/1000-one
			n, x, y, xx, xy = n+1, x+d, y+more, xx+d*d, xy+d*more
		}
	}
	if n == 0 {
		return f
	}
	if spread := n*xx - x*x; spread > 0 {
		f.crowd = max(0, (n*xy-x*y)/spread)
	}
	f.busy = (y - f.crowd*x) / n
	return f
}

// doublings is how often the processors have to be doubled to be as many as the processes.
func (f fleet) doublings(processes int) float64 {
	return math.Log2(max(1, float64(processes)/float64(f.cores)))
}

// calibrated completes a fleet whose one process brings so many jobs a second to their
// end. That says how long a job takes. What of its processor time does not fit into that
// is done beside it; what of its time neither processors nor commits account for, it
// spends elsewhere.
func (f fleet) calibrated(perSecond float64) fleet {
	low, high := 0.0, f.cpu+float64(f.slots)/perSecond
	for range 20 {
		long := (low + high) / 2
		f.path, f.other = min(long, f.cpu), max(0, long-f.cpu)
		if f.jobs(1) > perSecond {
			low = long
		} else {
			high = long
		}
	}
	return f
}

// jobs is how many jobs a second so many processes bring to their end.
func (f fleet) jobs(processes int) float64 {
	// Others take their share of each processor, and never all.
	slower := float64(f.cores) / max(float64(f.cores)-f.others, 0.1*float64(f.cores))
	if processes >= f.cores {
		slower *= 1 + (f.busy+f.crowd*f.doublings(processes))/f.cpu
	}
	stations := []station{
		{servers: f.cores, mean: f.path * slower, behind: (f.cpu - f.path) * slower, phases: jobPhases},
		{servers: 1, mean: f.commit, phases: jobPhases},
		{mean: f.other, phases: jobPhases},
	}
	return simulate(stations, load{circulating: processes * f.slots}, modelJobs).rate
}
