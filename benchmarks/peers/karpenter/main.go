// What would the reference launch for this cluster, and how long does it take to say so?
//
//	karpenter [--timeout 60s] [--workers 1] SCENARIO
//
// SCENARIO is JSON as benchmarks/peers/scenario.py writes it; the answer is JSON on standard output.
//
// In the seconds: NewTopology, NewScheduler, Solve and TruncateInstanceTypes, which is what a
// provisioning loop of the reference spends on pods that wait once it knows the cluster.
// Not in them: reading the scenario, building objects, instance types and the cluster state, the
// copy of the nodes that each loop starts with, looking for volumes, and everything that comes
// after the decision (events, writing node claims, and this answer).
//
// Whatever keeps it from an answer is one JSON object {"error": "..."} and exit code 2. A panic in
// one of the scheduler's own workers cannot be caught here: Go then ends the process, also with
// exit code 2, with "panic: ..." on standard error and nothing on standard output.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
)

const failed = 2

// said makes sure that one thing is said, whoever is faster: the answer or the end of patience.
var said sync.Mutex

func main() {
	timeout := flag.Duration("timeout", 0, "give up after so long; 0 never does")
	workers := flag.Int("workers", 1, "candidates that the scheduler looks at concurrently; 1 is its default")
	flag.Parse()
	log.SetLogger(logging.NopLogger)
	defer func() {
		if found := recover(); found != nil {
			fail("panic: %v", found)
		}
	}()
	if flag.NArg() != 1 {
		fail("expected one scenario, not %d", flag.NArg())
	}
	held, err := read(flag.Arg(0))
	if err != nil {
		fail("reading %s: %v", flag.Arg(0), err)
	}
	question, err := asked(held, *workers)
	if err != nil {
		fail("building the cluster: %v", err)
	}
	settle()
	before := peakMB()
	if *timeout > 0 {
		patience := time.AfterFunc(*timeout, func() { fail("timeout: no answer after %s", *timeout) })
		defer patience.Stop()
	}
	solution, err := solved(question)
	if err != nil {
		fail("solving: %v", err)
	}
	peak := peakMB() // before the answer takes memory of its own
	answer := told(solution)
	answer.PeakMB, answer.PeakMBBefore = peak, before
	answer.Workers = *workers
	say(answer, 0)
}

func fail(form string, arguments ...any) {
	say(map[string]string{"error": fmt.Sprintf(form, arguments...)}, failed)
}

func say(what any, code int) {
	said.Lock() // never given back: whoever comes second waits for the end of the process
	if err := json.NewEncoder(os.Stdout).Encode(what); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = failed
	}
	os.Exit(code)
}
