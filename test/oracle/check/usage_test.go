package check

import (
	"testing"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// uses is a look at a process after healing.
func (s *story) uses(at int64, node string, pid, descriptors, goroutines int) {
	s.events = append(s.events, history.Event{
		Kind: history.KindUsage, Action: history.Healed, Node: node, Call: at * 1000, Return: at * 1000,
		Detail: history.Detail{Usage: &history.Usage{Pid: pid, Memory: 1 << 26, Descriptors: descriptors, Goroutines: goroutines}},
	})
}

func TestWhatProcessesUse(t *testing.T) {
	cases := []struct {
		name, want string
		tell       func(*story)
	}{
		{"up and down", "", func(s *story) {
			for i, n := range []int{60, 200, 70, 190, 80, 210} {
				s.uses(int64(i)*second, "n1", 7, n, 10*n)
			}
		}},
		{"more at each look, but few", "", func(s *story) {
			for i := range 8 {
				s.uses(int64(i)*second, "n1", 7, 60+5*i, 300+5*i)
			}
		}},
		{"more than at first, as the clients are", "", func(s *story) {
			for i, n := range []int{76, 90, 123, 125, 113, 130} {
				s.uses(int64(i)*second, "n1", 7, 60, n)
			}
		}},
		{"a new process begins anew", "", func(s *story) {
			for i := range 5 {
				s.uses(int64(i)*second, "n1", 7, 60, 300)
				s.uses(int64(i)*second, "n1", 8, 200, 900)
			}
		}},
		{"descriptors that are never closed", "I15", func(s *story) {
			for i := range 6 {
				s.uses(int64(i)*second, "n1", 7, 60+50*i, 300)
			}
		}},
		{"goroutines that never end", "I15", func(s *story) {
			for i := range 6 {
				s.uses(int64(i)*second, "n1", 7, 60, 300+200*i)
			}
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStory()
			c.tell(s)
			wantInvariants(t, c.want, Check(s.events))
		})
	}
}

func TestSumSeesWhatGrowsFromPartToPart(t *testing.T) {
	for _, c := range []struct {
		name  string
		parts []int
		want  int
	}{
		{"at rest", []int{60, 62, 59, 61, 60, 64}, 0},
		{"a leak", []int{60, 100, 150, 200, 260, 310}, 1},
		{"too few to say", []int{60, 200, 400}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var parts []Report
			for _, n := range c.parts {
				parts = append(parts, Report{Counts: map[string]int{}, resting: [2]int{n, 0}})
			}
			if got := Sum(parts).Violations; len(got) != c.want {
				t.Errorf("violations: %v", got)
			}
		})
	}
}
