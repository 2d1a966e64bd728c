// How much memory has it held at most?
package main

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// settle gives back what reading and building have left over, and lets the peak start from what
// is still held: a controller has its cluster in memory, but never a scenario.
func settle() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600)
}

// peakMB is the most memory that the process has held since then, in megabytes of 10^6 bytes.
func peakMB() float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(text), "\n") {
		if found, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(found, "kB")), 64)
			return kib * 1024 / 1e6
		}
	}
	return 0
}
