package main

import (
	"math"
	"testing"

	"relaypdf/internal/slow"
)

// erlangC is the mean wait of M/M/c, and of M/M/1 with one server.
func erlangC(servers int, rate, mean float64) float64 {
	offered := rate * mean
	term, sum := 1.0, 0.0
	for k := range servers {
		sum += term
		term *= offered / float64(k+1)
	}
	full := term * float64(servers) / (float64(servers) - offered)
	return full / (sum + full) * mean / (float64(servers) - offered)
}

// meanValues is the throughput of a closed network of exponential stations that
// have one server, or as many as there are jobs (exact mean value analysis).
func meanValues(stations []station, jobs int) float64 {
	queue := make([]float64, len(stations))
	rate := 0.0
	for n := 1; n <= jobs; n++ {
		within := make([]float64, len(stations))
		total := 0.0
		for i, s := range stations {
			if within[i] = s.mean; s.servers == 1 {
				within[i] *= 1 + queue[i]
			}
			total += within[i]
		}
		rate = float64(n) / total
		for i := range queue {
			queue[i] = rate * within[i]
		}
	}
	return rate
}

func near(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if math.Abs(got-want) > share*want {
		t.Errorf("%s: got %.5f, want %.5f within %.0f %%", what, got, want, 100*share)
	}
}

// TestModelKnowsQueues holds the simulation to what is known exactly.
func TestModelKnowsQueues(t *testing.T) {
	for _, q := range []struct {
		servers    int
		rate, mean float64
	}{{1, 5, 0.1}, {1, 8, 0.1}, {2, 16, 0.1}, {4, 30, 0.1}, {8, 70, 0.1}} {
		got := simulate([]station{{servers: q.servers, mean: q.mean}}, load{rate: q.rate}, 400_000)
		wait := erlangC(q.servers, q.rate, q.mean)
		near(t, "wait in M/M/c", got.wait, wait, 0.08)
		near(t, "time in M/M/c", got.within, wait+q.mean, 0.05)
		near(t, "what comes goes", got.rate, q.rate, 0.01)
	}
	// Half as much variance is half the wait (Pollaczek and Khinchine).
	got := simulate([]station{{servers: 1, mean: 0.1, phases: 4}}, load{rate: 8}, 400_000)
	near(t, "wait in M/E4/1", got.wait, erlangC(1, 8, 0.1)*(1+0.25)/2, 0.05)
	network := []station{{servers: 1, mean: 0.010}, {servers: 1, mean: 0.004}, {mean: 0.030}}
	for _, jobs := range []int{1, 2, 4, 8, 32} {
		near(t, "closed network", simulate(network, load{circulating: jobs}, 60_000).rate, meanValues(network, jobs), 0.02)
	}
}

// TestFleetPredicts: processes add up while there are processors, and not beyond.
func TestFleetPredicts(t *testing.T) {
	slow.Test(t)
	f := fleet{cores: 4, slots: 1, cpu: 0.020}.calibrated(20) // 30 ms of 50 are spent waiting
	near(t, "what was measured", f.jobs(1), 20, 0.01)
	near(t, "the rest of a job", f.other, 0.030, 0.03)
	near(t, "two processes", f.jobs(2), 40, 0.02)
	near(t, "as many as the cores can do", f.jobs(64), 200, 0.02)
	// Nothing but processor time: the second core doubles it, the third process adds nothing.
	full := fleet{cores: 2, slots: 1, cpu: 0.025}.calibrated(40)
	near(t, "two processes on two cores", full.jobs(2), 80, 0.02)
	near(t, "eight processes on two cores", full.jobs(8), 80, 0.02)
	// A job that is over before its processor time is: some of that is spent beside it.
	beside := fleet{cores: 2, slots: 1, cpu: 0.019, commit: 0.003}.calibrated(75)
	near(t, "what was measured of one that leaves work", beside.jobs(1), 75, 0.02)
	if beside.path >= beside.cpu || beside.other > 0 {
		t.Errorf("%+v: want less on the job's path than there is, and nothing elsewhere", beside)
	}
	near(t, "what the cores can do", beside.jobs(8), 2/0.019, 0.03)
	// Who else is at the processors has them for good.
	shared := fleet{cores: 2, slots: 1, cpu: 0.020, others: 0.5}.calibrated(30)
	near(t, "three quarters of two cores", shared.jobs(8), 75, 0.03)
	// Jobs of one account follow each other where its row is locked.
	locked := fleet{cores: 64, slots: 1, cpu: 0.020, commit: 0.010}.calibrated(25)
	near(t, "the rest of a job that commits", locked.other, 0.010, 0.05)
	near(t, "one after the other", locked.jobs(32), 100, 0.02)
	// What more processes than cores cost each other is measured at other numbers of them.
	crowd := full.crowded(0.025, []workerFigures{{Processes: 1, CPU: 99}, {Processes: 4, CPU: 27}, {Processes: 16, CPU: 37}})
	near(t, "a job's for each doubling", crowd.crowd, 0.005, 0.001)
	near(t, "a job's where each core has a process", crowd.cpu+crowd.busy, 0.022, 0.001)
	near(t, "one process", crowd.jobs(1), full.jobs(1), 0.001)
	near(t, "two processes that have a core each", crowd.jobs(2), 2/0.022, 0.02)
	near(t, "eight processes that have a quarter each", crowd.jobs(8), 2/0.032, 0.02)
	one := full.crowded(0.025, []workerFigures{{Processes: 4, CPU: 30}})
	near(t, "by one row", one.jobs(8), 2/0.030, 0.02)
	near(t, "by none", full.crowded(0.025, nil).jobs(8), full.jobs(8), 0.001)
}
