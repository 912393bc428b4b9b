package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/report"
	"github.com/rigprof/rigprof/internal/sharedtest"
)

// output runs rigprof, which must succeed, and reads its JSON output.
func output(t *testing.T, v any, args ...string) {
	t.Helper()
	code, out, messages := rigprof(args...)
	if code != 0 {
		t.Fatalf("rigprof %s: %d, %s", strings.Join(args, " "), code, messages)
	}
	if err := json.Unmarshal([]byte(out), v); err != nil {
		t.Fatalf("rigprof %s: %v", strings.Join(args, " "), err)
	}
}

// launched is what the counters and the advice say of one launch.
type launched struct {
	conflict, active int64
	advice           []report.Advice
}

func launchTwice(t *testing.T, target, launch, object string) launched {
	t.Helper()
	dir := t.TempDir()
	var count struct {
		Dispatches []struct {
			Counters []struct {
				Name  string
				Value *int64
			}
		}
	}
	block := "SQC"
	if strings.HasPrefix(target, "gfx9") {
		block = "SQ"
	}
	run := []string{"--device", "sim:" + target, "--launch", launch}
	output(t, &count, append([]string{
		"counters", "--format", "json", "--capture", filepath.Join(dir, "c"), "-e", fmt.Sprintf("%[1]s_LDS_BANK_CONFLICT,%[1]s_LDS_IDX_ACTIVE", block), object,
	}, run...)...)
	var l launched
	for _, c := range count.Dispatches[0].Counters {
		if c.Value == nil {
			t.Fatalf("no value of %s", c.Name)
		}
		if strings.HasSuffix(c.Name, "CONFLICT") {
			l.conflict = *c.Value
		} else {
			l.active = *c.Value
		}
	}
	file := filepath.Join(dir, "t")
	if code, _, messages := rigprof(append([]string{"trace", "--detail-engines", "all", "--capture", file, object}, run...)...); code != 0 {
		t.Fatal(messages)
	}
	var hot report.Hotspots
	output(t, &hot, "hotspots", "--format", "json", file)
	l.advice = hot.Advice
	return l
}

// lds-conflict speaks where the LDS counters tell of conflicts, and nowhere else: not where code came late, not where the queue was full.
func TestConflictsCounted(t *testing.T) {
	ours := filepath.Join("..", "..", "testdata", "kernels")
	speaks := func(t *testing.T, target, launches, launch, object string, want bool) {
		l := launchTwice(t, target, launches+"#"+launch, object)
		spoke := false
		for _, a := range l.advice {
			spoke = spoke || a.Rule == "lds-conflict"
		}
		if l.active == 0 || spoke != want || want != (l.conflict*5 > l.active*2) {
			t.Errorf("%s %s: conflicts in %d of %d cycles of the LDS, the rule speaks: %v", target, launch, l.conflict, l.active, spoke)
		}
	}
	for launch, want := range map[string]bool{
		"bank_conflict_1": false, "bank_conflict_32": true, "gemm_f32": false, "nbody": false, "scan": false, "softmax": false, "reduce": false,
	} {
		object, _, _ := strings.Cut(launch, "_conflict_")
		if object != launch {
			object += "_conflict"
		}
		speaks(t, "gfx1100", filepath.Join(ours, "launches.yaml"), launch, filepath.Join(ours, "gfx1100", object+".co"), want)
	}
	for _, target := range []string{"gfx1201", "gfx942"} {
		speaks(t, target, filepath.Join(ours, "launches.yaml"), "bank_conflict_1", filepath.Join(ours, target, "bank_conflict.co"), false)
		speaks(t, target, filepath.Join(ours, "launches.yaml"), "bank_conflict_32", filepath.Join(ours, target, "bank_conflict.co"), true)
	}
	speaks(t, "gfx942", filepath.Join(ours, "launches.yaml"), "bank_conflict_2", filepath.Join(ours, "gfx942", "bank_conflict.co"), true)
	kernels := sharedtest.Path(t, "kernels")
	for _, target := range []string{"gfx1201", "gfx942", "gfx950"} {
		for _, launch := range []string{"gemm_f32", "nbody", "scan"} {
			speaks(t, target, filepath.Join(kernels, "launches.yaml"), launch, filepath.Join(kernels, "co", target, launch+".co"), false)
		}
	}
}
