package clustertest

import (
	"strings"
	"testing"
)

// begin begins a goroutine by way of another one, which has ended, and returns what
// ends it.
func begin() (end func()) {
	hold, began, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		go func() {
			defer close(ended)
			close(began)
			<-hold
		}()
	}()
	<-began
	return func() {
		close(hold)
		<-ended
	}
}

// Goroutines are found by the test that began them, and those of other tests are not.
func TestGoroutinesOfATest(t *testing.T) {
	t.Parallel()
	end := begin()
	defer end()
	for _, name := range []string{"one", "other"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			VerifyNoLeaks(t)
			VerifyNoLeaks(t)
			end := begin()
			found := 0
			for _, stack := range goroutinesOf(t.Name()) {
				if strings.Contains(stack, "clustertest.begin") {
					found++
				}
			}
			if found != 1 {
				t.Errorf("%d of one goroutine was found", found)
			}
			end()
		})
	}
}
