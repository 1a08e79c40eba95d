package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// child is a process that this one started, whose end is awaited in the background.
type child struct {
	name    string
	log     string // the file that holds what it wrote
	command *exec.Cmd
	ended   chan struct{} // closed when the process has ended
}

// start starts a program as a child that the kernel kills when this process ends for whatever reason. It
// has a process group of its own, so that Ctrl-C on a terminal reaches only this process, which then ends
// its children in order. Only the main goroutine may call it: see init in main.go.
func start(name, program string, arguments, environment []string, logFile string) (*child, error) {
	output, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	started := &child{name: name, log: logFile, command: exec.Command(program, arguments...), ended: make(chan struct{})}
	started.command.Stdout = output
	started.command.Stderr = output
	started.command.Env = append(os.Environ(), environment...)
	started.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := started.command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = started.command.Wait()
		close(started.ended)
	}()
	return started, nil
}

func (c *child) pid() int {
	return c.command.Process.Pid
}

// hasEnded says whether the process is gone.
func (c *child) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// stop asks the process to end, and kills it after a grace period.
func (c *child) stop(grace time.Duration) {
	_ = c.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.ended:
		return
	case <-time.After(grace):
	}
	_ = c.command.Process.Kill()
	<-c.ended
}

// lastLines returns the end of what the process wrote, to explain why it ended.
func (c *child) lastLines(count int) string {
	content, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	if len(lines) > count {
		lines = lines[len(lines)-count:]
	}
	return strings.Join(lines, "\n")
}

// stopRequests returns a channel that gets the reason why this process should stop: a signal, or the end
// of its standard input, which is how it learns that the process that started it is gone, even if that
// one was killed. With watchInput false, only signals count.
func stopRequests(watchInput bool) <-chan string {
	requests := make(chan string, 2)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	go func() {
		requests <- (<-signals).String()
	}()
	if watchInput {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			requests <- "end of standard input"
		}()
	}
	return requests
}
